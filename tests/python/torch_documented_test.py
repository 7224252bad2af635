import re

from documented import TEXT, run_section

from onward import _torch_program as programs


def test_pytorch_is_as_documented(tmp_path, monkeypatch):
    variables = run_section("From PyTorch", tmp_path, monkeypatch)
    assert variables["trainer"].state()["step"] == 2


def test_all_functions_are_documented():
    listed = TEXT.split("<!-- functions -->")[1].split("\n\n")[0]
    assert re.findall(r"`(\w+)`", listed) == sorted(name for name in programs.FUNCTIONS if not name.startswith("_"))
