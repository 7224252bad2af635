"""`onward train --report` and `onward eval --report`: one HTML file, whatever ends the training."""

import base64
import html
import io
import json
import re
import signal
import subprocess
from html.parser import HTMLParser

import numpy as np
from PIL import Image

from images_test import classifier
from program import command, digits, done, events, example, onward

VOID = {"meta", "img", "br", "link", "input"}


class Page(HTMLParser):
    """The texts of a page by their elements; that elements are closed in order is checked on the way."""

    def __init__(self, file):
        super().__init__()
        self.stack, self.tags, self.attributes, self.texts = [], [], [], {}
        self.whole = file.read_text("utf-8")
        self.feed(self.whole)
        self.close()
        assert self.stack == []
        self.data = json.loads(self.texts["script"][0])

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):  # as SVG has them
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and data.strip():
            self.texts.setdefault(self.stack[-1], []).append(data)

    def table(self, caption):
        """The rows of a table, each a list of texts."""
        [table] = [each for each in re.findall(r"<table.*?</table>", self.whole, re.DOTALL) if f"<caption>{caption}" in each]
        return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]

    @property
    def status(self):
        return [text for text in self.texts["span"] if text in ("done", "still running", "stopped early", "interrupted", "ended by an error")]

    def require_sound(self):
        assert self.tags.count("script") == 2 and self.tags.count("h1") == 1
        assert not any(name.startswith("on") for name, _ in self.attributes)
        assert all(value.startswith("data:image/png;base64,") for name, value in self.attributes if name == "src")
        assert all(name != "href" for name, _ in self.attributes)
        assert all(value for name, value in self.attributes if name in ("alt", "aria-label"))


def trained(folder, *more, **options):
    """A page of a training with an evaluation, and what the program said."""
    file = folder / "report.html"
    result = onward("train", example(folder, "logistic"), "--data", digits(folder, 200), "--val-split", 0.25, "--batch-size", 16,
                    "-o", folder / "t.onnx", "--report", file, "--json", *more, **options)
    page = Page(file)
    page.require_sound()
    return page, result


def test_a_training(tmp_path):
    page, result = trained(tmp_path, "--epochs", 3, "--seed", 4)
    assert result.returncode == 0 and page.status == ["done"]
    loss, accuracy = page.data["charts"]
    assert (loss["title"], accuracy["title"]) == ("loss", "accuracy")
    steps, epochs = events(result.stdout, "step"), events(result.stdout, "epoch")
    each_step, by_epoch, evaluation = loss["series"]
    assert each_step["x"] == [each["step"] for each in steps] and each_step["y"] == [each["loss"] for each in steps]
    assert by_epoch["x"] == [each["step"] for each in epochs] and by_epoch["y"] == [each["loss"] for each in epochs]
    assert evaluation["y"] == [each["evaluation"]["loss"] for each in epochs]
    assert page.tags.count("svg") == 2
    rows = page.table("Means over each epoch")
    assert [row[0] for row in rows] == ["epoch", "1", "2", "3"]
    assert rows[-1][3] == f"{100 * epochs[-1]['accuracy']:.2f} %"
    options = dict(page.table("Options"))
    assert options["--epochs"] == "3" and options["--seed"] == "4" and options["--drop-last"] == "no"
    assert options["MODEL"] == str(tmp_path / "logistic.onnx") and options["--threads"] == "one per core"
    job = dict(page.table("Job"))
    assert re.match(r"\d+\.\d+\.\d+", job["Onward"]) and int(job["threads"]) >= 1
    shares = [float(row[-1].removesuffix(" %")) for row in page.table("Time by operator")[1:]]
    assert abs(sum(shares) - 100) < 0.1 * len(shares) and shares == sorted(shares, reverse=True)
    # The wrong ones of the evaluation, which has no pictures and no table: indices.
    wrong = page.table("The worst first")[1:]
    right = epochs[-1]["evaluation"]["accuracy"]
    count = round((1 - right) * (200 - events(result.stdout, "begin")[0]["examples"]))
    assert len(wrong) == min(count, 24) and f"<p>{count} of the held-out" in page.whole
    matrix = page.table("Rows are true classes")[1:11]
    counts = np.array([[int(cell.replace("·", "0")) for cell in row[1:11]] for row in matrix])
    assert counts.sum() == 200 - events(result.stdout, "begin")[0]["examples"] and counts.sum() - np.trace(counts) == count
    labels = np.load(tmp_path / "digits.npz")["label"]
    losses = [float(row[5]) for row in wrong]
    assert losses == sorted(losses, reverse=True)
    for row in wrong:
        assert labels[int(row[0].removeprefix("example "))] == int(row[1]) != int(row[2])


def test_endings(tmp_path):
    page, result = trained(tmp_path, "--epochs", 50, "--early-stop", "accuracy:2")
    assert page.status == ["stopped early"] and events(result.stdout, "stopped")[0]["reason"] in page.texts["pre"][0]
    # An interrupted one, of which the report has been there before.
    train = command("train", tmp_path / "logistic.onnx", "--data", tmp_path / "digits.npz", "--report", tmp_path / "i.html",
                    "--json", "--epochs", 10**6, "-o", tmp_path / "i.onnx")
    process = subprocess.Popen(train, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if json.loads(line)["event"] == "epoch" and json.loads(line)["epoch"] == 2:
            break
    running = Page(tmp_path / "i.html")
    assert running.status == ["still running"] and running.table("Means over each epoch")[1][0] == "1"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert process.returncode == 130
    page = Page(tmp_path / "i.html")
    assert page.status == ["interrupted"]
    [interrupted] = events(rest, "interrupted")
    assert interrupted["resume"] in page.texts["pre"][0] and f"--report {tmp_path / 'i.html'}" in interrupted["resume"]
    resumed = done(*interrupted["resume"].replace("--epochs 1000000", f"--steps {interrupted['step'] + 5}").split()[1:])
    page = Page(tmp_path / "i.html")
    assert page.status == ["done"] and dict(page.table("Job"))["resumed"] == f"after step {interrupted['step']}"
    assert len(events(resumed.stdout, "step")) == 5
    # The curve begins where the training began.
    [steps, *_] = page.data["charts"][0]["series"]
    assert steps["x"][0] < steps["width"] + 1 and steps["x"][-1] > interrupted["step"] - steps["width"]
    assert [each["epoch"] for each in page.data["epochs"]][:2] == [1, 2]


def test_an_error(tmp_path):
    data = dict(np.load(digits(tmp_path, 64)))
    data["x"][40] = np.nan
    np.savez(tmp_path / "bad.npz", **data)
    result = onward("train", example(tmp_path, "logistic"), "--data", tmp_path / "bad.npz", "--batch-size", 4,
                    "-o", tmp_path / "t.onnx", "--report", tmp_path / "r.html", "--json")
    assert result.returncode == 1
    page = Page(tmp_path / "r.html")
    assert page.status == ["ended by an error"]
    assert page.texts["pre"][0] == result.stderr.removeprefix("onward: ").rstrip("\n")
    assert page.data["charts"][0]["series"][0]["x"] == [each["step"] for each in events(result.stdout, "step")]


HOSTILE = "<img src=x onerror=alert(1)>\u2028&'\""


def test_pictures(tmp_path):
    """Classes with hostile names; a model that has learned nothing yet takes many for others."""
    random = np.random.default_rng(0)
    for name in ("blue", "green", HOSTILE):
        (tmp_path / "images" / name).mkdir(parents=True)
        for i in range(15):
            picture = random.integers(0, 256, (160, 224, 3), dtype=np.uint8)
            Image.fromarray(picture).save(tmp_path / "images" / name / f"{i}{'<b>' if i == 3 else ''}.png")
    model = classifier(tmp_path, ["N", 3, 12, 12])
    done("train", model, "--data", tmp_path / "images", "--eval", tmp_path / "images", "-o", tmp_path / "t.onnx",
         "--report", tmp_path / "r.html")
    result = done("eval", tmp_path / "t.onnx", "--data", tmp_path / "images", "--report", tmp_path / "e.html", "--json")
    accuracy = json.loads(result.stdout)["accuracy"]
    for file in ("r.html", "e.html"):
        page = Page(tmp_path / file)
        page.require_sound()
        pictures = [value for name, value in page.attributes if name == "src"]
        assert len(pictures) == min(24, round(45 * (1 - accuracy))) > 0
        assert sum(map(len, pictures)) < 2_000_000
        for each in pictures:
            image = Image.open(io.BytesIO(base64.b64decode(each.split(",")[1])))
            assert image.size == (112, 80) and image.mode == "RGB"
        assert any(HOSTILE in text for text in page.texts["b"])
        assert {html.unescape(row[0]) for row in page.table("Rows are true classes")[1:4]} == {"blue", "green", HOSTILE}
    job = dict(Page(tmp_path / "r.html").table("Job"))
    assert (job["loss"], job["optimizer"]) == ("softmax_cross_entropy", "sgd, as in torch")


def test_pictures_of_arrays(tmp_path):
    random = np.random.default_rng(0)
    images, label = random.random((30, 3, 12, 12), dtype=np.float32), random.integers(0, 3, 30)
    np.savez(tmp_path / "d.npz", pixels=images, label=label)
    done("train", classifier(tmp_path, ["N", 3, 12, 12]), "--data", tmp_path / "d.npz", "--eval", tmp_path / "d.npz",
         "-o", tmp_path / "t.onnx", "--report", tmp_path / "r.html")
    page = Page(tmp_path / "r.html")
    shown = [(dict(page.attributes[i - 1:i + 2]), value) for i, (name, value) in enumerate(page.attributes) if name == "src"]
    assert shown
    for attributes, uri in shown:
        example_number, truth = map(int, re.match(r"example (\d+), of class (\d),", attributes["alt"]).groups())
        assert truth == label[example_number]
        picture = np.array(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))
        expected = images[example_number].transpose(1, 2, 0) * 255
        assert np.abs(picture - expected).max() <= 0.51


def test_rows_of_a_table(tmp_path):
    random = np.random.default_rng(1)
    lines = [f"{random.integers(20, 70)},{random.choice(['oak', '<b>elm</b>'])},{random.choice(['no', 'yes'])}" for _ in range(60)]
    (tmp_path / "people.csv").write_text("age,tree,member\n" + "\n".join(lines) + "\n")
    (tmp_path / "net.onnxtxt").write_text("""
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,3] features) => (float[N,2] scores) <float[3,2] w = {0, 0, 0, 0, 0, 0}, float[2] b = {0, 0}> { scores = Gemm(features, w, b) }
""")
    done("prepare", tmp_path / "net.onnxtxt", "--loss", "softmax_cross_entropy", "-o", tmp_path / "net.onnx")
    done("train", tmp_path / "net.onnx", "--data", tmp_path / "people.csv", "--label", "member", "--val-split", 0.5,
         "-o", tmp_path / "t.onnx", "--report", tmp_path / "r.html")
    page = Page(tmp_path / "r.html")
    page.require_sound()
    head, *rows = page.table("The worst first")
    assert head[-2:] == ["age", "tree"] and rows
    for row in rows:
        line = lines[int(row[0].removeprefix("row ")) - 1].replace("<", "&lt;").replace(">", "&gt;")
        assert line.split(",") == [*row[-2:], row[1]]


def test_refusals(tmp_path):
    data = digits(tmp_path)
    train = ["train", example(tmp_path, "logistic"), "--data", data, "-o", tmp_path / "t.onnx", "--report"]
    before = data.read_bytes()
    for report, message in [(data, "is not a report, and --report would replace it"),
                            (tmp_path / "t.onnx", "--report and -o both name"),
                            (tmp_path / "no/r.html", "does not exist"), (tmp_path, "is a folder")]:
        result = onward(*train, report)
        assert result.returncode == 1 and message in result.stderr, result.stderr
    assert data.read_bytes() == before and not (tmp_path / "t.onnx").exists()
    result = onward("eval", tmp_path / "logistic.onnx", "--data", data, "--report", data)
    assert result.returncode == 1 and "is not a report" in result.stderr
    done(*train, tmp_path / "r.html")
    done(*train, tmp_path / "r.html")  # a report may be replaced


def test_a_report_that_cannot_be_written_ends_no_training(tmp_path):
    """The folder goes away while the training runs."""
    folder = tmp_path / "gone"
    folder.mkdir()
    train = command("train", example(tmp_path, "logistic"), "--data", digits(tmp_path), "--report", folder / "r.html",
                    "--json", "--epochs", 10**6, "--time-limit", "2s", "-o", tmp_path / "t.onnx")
    process = subprocess.Popen(train, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (folder / "r.html").exists():
        process.stdout.readline()
    folder.rename(tmp_path / "elsewhere")
    _, said = process.communicate()
    assert process.returncode == 0 and (tmp_path / "t.onnx").exists()
    [warning] = said.splitlines()
    assert warning.startswith(f"warning: the report '{folder / 'r.html'}' could not be written: ")
