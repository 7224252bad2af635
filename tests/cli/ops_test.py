"""`onward ops` has every operator of the standard, each with what there is or a reason why not."""

import json
import os
import re
import subprocess

import onnx.defs
import pytest

COLUMNS = ["kernel", "fast", "gradient", "tagged", "lowered", "torch", "keras", "jax"]


def onward(*arguments):
    return subprocess.run([os.environ["ONWARD"], *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def table():
    result = onward("ops", "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_every_operator_is_there_once(table):
    listed = [(row["domain"], row["operator"]) for row in table["operators"]]
    assert sorted(listed) == sorted((schema.domain, schema.name) for schema in onnx.defs.get_all_schemas())
    counts = {domain: sum(1 for each, _ in listed if each == domain) for domain, _ in listed}
    assert counts == {"": 203, "ai.onnx.ml": 19, "ai.onnx.preview": 1, "ai.onnx.preview.training": 4}


def test_every_cell_says_how_or_why_not(table):
    assert list(table["columns"]) == COLUMNS
    for row in table["operators"]:
        for column in COLUMNS:
            cell = row[column]
            words = cell["reason"] if cell["support"] in ("gap", "not yet") else cell["how"]
            assert cell["support"] in ("yes", "unneeded", "fallback", "gap", "not yet") and len(words) > 3, row


def test_what_is_known_of_some(table):
    rows = {row["operator"]: row for row in table["operators"]}
    assert rows["Conv"]["fast"] == {"support": "yes", "how": "winograd 4x4, winograd 2x2, onednn, im2col"}
    assert rows["Add"]["fast"] == {"support": "yes", "how": "tiles"}
    assert [rows["Shape"][column]["support"] for column in COLUMNS] == ["yes", "fallback", "unneeded", "unneeded", *["yes"] * 4]
    assert {rows["Scatter"][column]["support"] for column in COLUMNS if column != "tagged"} == {"gap"}
    assert [rows["LSTM"][column]["support"] for column in COLUMNS] == ["yes", "fallback", *["yes"] * 5, "gap"]
    assert [rows["Loop"][framework]["support"] for framework in ("torch", "keras")] == ["yes", "yes"]
    assert rows["Loop"]["jax"] == {"support": "gap", "reason": "control flow is exported to PyTorch and Keras alone so far"}
    assert rows["Conv"]["jax"] == {"support": "not yet", "reason": "not exported to JAX yet"}  # which is begun
    assert "its result Indices" in rows["MaxPool"]["torch"]["how"]
    assert rows["Adam"]["fast"] == {"support": "yes", "how": "tiles"}
    assert rows["Adam"]["kernel"] == {"support": "yes", "how": "by plainer operators"}
    assert {"domain": "", "operator": "Upsample", "since_version": 10,
            "reason": "has been withdrawn: Resize has replaced it"} in table["unliftable_forms"]


def test_tags_are_those_of_the_standard(table):
    differentiable = onnx.defs.OpSchema.DifferentiationCategory.Differentiable
    for row in table["operators"]:
        schema = onnx.defs.get_schema(row["operator"], domain=row["domain"])
        names = [each.name for each in schema.inputs if each.differentiation_category == differentiable]
        assert row["tagged"]["support"] == ("yes" if names else "unneeded"), row
        assert not names or row["tagged"]["how"] == f"the standard tags {', '.join(names)}"
    # All that it tags are differentiated, but for steps and what has been withdrawn.
    lacking = {row["operator"] for row in table["operators"] if row["tagged"]["support"] == "yes" != row["gradient"]["support"]}
    assert lacking == {"Hardmax", "Scatter"}


def test_text_and_json_agree(table):
    text = onward("ops").stdout
    for row in table["operators"]:
        name = f"{row['domain']}.{row['operator']}" if row["domain"] else row["operator"]
        assert any(line.split()[0] == name for line in text.splitlines()[1:]), name
    covered = sum(1 for row in table["operators"] if row["domain"] == "" and
                  all(row[column]["support"] != "gap" for column in COLUMNS))
    assert f"ai.onnx: {covered} of 203 operators" in text and covered >= 66


def test_missing_lists_gaps_alone(table):
    rows = json.loads(onward("ops", "--missing", "--json").stdout)["operators"]
    expected = [row for row in table["operators"] if any(row[column]["support"] == "gap" for column in COLUMNS)]
    assert rows == expected
    text = onward("ops", "--missing").stdout
    assert "TfIdfVectorizer" in text and "Upsample of opset 10: has been withdrawn" in text and not re.search(r"\bConv\b", text)


def test_one_operator():
    text = onward("ops", "Conv").stdout
    assert text.startswith("Conv (since opset 22)\n") and "onednn" in text
    result = onward("ops", "Konv")
    assert result.returncode == 1 and "ONNX has no operator 'Konv': did you mean 'Conv'?" in result.stderr
