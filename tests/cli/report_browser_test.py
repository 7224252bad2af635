"""A report in a browser, with real clicks: curves to hide, values under the pointer, a logarithmic scale, tables to sort."""

import json
import os
import re
import subprocess
import urllib.request

import numpy as np
import pytest

ONWARD = os.environ["ONWARD"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")

    def run(*arguments):
        subprocess.run([ONWARD, *map(str, arguments)], check=True, capture_output=True)

    random = np.random.default_rng(0)
    label = random.integers(0, 10, 300)
    x = random.random((300, 64), dtype=np.float32) + np.eye(10, 64, dtype=np.float32)[label]
    np.savez(folder / "d.npz", x=x, label=label)
    run("example", "logistic", "-o", folder / "m.onnx")
    run("train", folder / "m.onnx", "--data", folder / "d.npz", "--val-split", 0.3, "--epochs", 12, "-o", folder / "t.onnx",
        "--report", folder / "report.html")
    return folder / "report.html"


class Browser:
    """Chromium by way of its driver, which speaks JSON over HTTP."""

    def __init__(self, folder):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.address = f"http://127.0.0.1:{found[1]}"
                break
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}",
                     "--window-size=1200,900"]
        options = {"args": arguments, "binary": "/usr/bin/chromium"}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.address += f"/session/{made['sessionId']}"

    def call(self, method, path, content=None):
        request = urllib.request.Request(self.address + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if content is None else json.dumps(content).encode())
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": arguments})

    def act(self, *actions):
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(actions)}
        self.call("POST", "/actions", {"actions": [pointer]})

    def move(self, selector, part_x=0.5, part_y=0.5):
        x, y = self.run("""
            const found = document.querySelector(arguments[0]);
            found.scrollIntoView({block: "center"});
            const box = found.getBoundingClientRect();
            return [Math.round(box.left + arguments[1] * box.width), Math.round(box.top + arguments[2] * box.height)];
        """, selector, part_x, part_y)
        self.act({"type": "pointerMove", "duration": 0, "x": x, "y": y})

    def click(self, selector):
        self.move(selector)
        self.act({"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser, report):
    browser.call("POST", "/url", {"url": report.as_uri()})
    yield browser
    said = browser.call("POST", "/se/log", {"type": "browser"})
    assert [each for each in said if each["level"] in ("SEVERE", "WARNING")] == []


LINES = "return [...document.querySelectorAll('#chart-0 .line:not(g g g)')].map((each) => each.getAttribute('class'))"
PATH = "return document.querySelector('#chart-0 .line.training path').getAttribute('d')"


def test_curves_can_be_hidden(page):
    assert page.run(LINES) == ["line steps", "line training", "line evaluation"]
    before = page.run(PATH)
    page.click("#chart-0 button.key.steps")
    assert page.run("return document.querySelector('#chart-0 button.key.steps').getAttribute('aria-pressed')") == "false"
    assert page.run(LINES) == ["line training", "line evaluation"]
    assert page.run(PATH) != before  # the scale is that of what is left
    page.click("#chart-0 button.key.steps")
    assert page.run(LINES) == ["line steps", "line training", "line evaluation"] and page.run(PATH) == before


def test_values_under_the_pointer(page):
    data = page.run("return JSON.parse(document.getElementById('report-data').textContent).charts[0].series")
    reading = "return document.querySelector('#chart-0 .reading').textContent"
    hint = page.run(reading)
    assert hint.startswith("Point at the chart")
    width = page.run("return document.querySelector('#chart-0 svg').clientWidth")
    for part in (0.2, 0.5, 0.9):
        page.move("#chart-0 svg", part)
        text = page.run(reading)
        step = int(re.match(r"step (\d+) ", text)[1])
        last = data[0]["x"][-1]
        expected = 1 + (part * width - 56) / (width - 70) * (last - 1)
        assert abs(step - expected) <= 1
        value = float(re.search(r"each step ([\d.e-]+)", text)[1])
        assert value == pytest.approx(data[0]["y"][data[0]["x"].index(step)], rel=1e-3)
    page.move("h1")
    assert page.run(reading) == hint
    page.run("document.querySelector('#chart-0 svg').focus()")
    keys = [{"type": kind, "value": "\ue014"} for _ in range(3) for kind in ("keyDown", "keyUp")]  # arrow right
    page.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})
    assert page.run(reading).startswith("step 3 ")


def test_a_logarithmic_scale(page):
    before = page.run(PATH)
    page.click("#chart-0 .log input")
    after = page.run(PATH)
    assert after != before
    assert re.fullmatch(r"M[\d.,L]+", after)


def column(page, selector, place):
    return page.run("return [...document.querySelector(arguments[0]).tBodies[0].rows].map((row) => row.cells[arguments[1]].textContent)",
                    selector, place)


def test_tables_can_be_sorted(page):
    table = "table.sortable"  # the first: epochs
    assert column(page, table, 0) == [str(epoch) for epoch in range(1, 13)]
    page.click(f"{table} th:nth-child(3) button")
    losses = [float(each) for each in column(page, table, 2)]
    assert losses == sorted(losses, reverse=True)
    page.click(f"{table} th:nth-child(3) button")
    assert [float(each) for each in column(page, table, 2)] == sorted(losses)
    page.click(f"{table} th:nth-child(1) button")
    assert column(page, table, 0) == [str(epoch) for epoch in range(12, 0, -1)]  # as numbers, not as texts
    state = page.run("return [...document.querySelectorAll(arguments[0] + ' th[aria-sort]')].map((each) => each.getAttribute('aria-sort'))", table)
    assert state == ["descending"]


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_window(page, width):
    page.call("POST", "/window/rect", {"width": width, "height": 800})
    page.call("POST", "/refresh", {})
    inner, wide = page.run("return [window.innerWidth, document.documentElement.scrollWidth]")
    assert wide <= inner
    page.call("POST", "/window/rect", {"width": 1200, "height": 900})


def test_nothing_is_asked_of_the_network(page):
    assert page.run("return performance.getEntriesByType('resource').length") == 0
