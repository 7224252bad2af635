"""docs/python.md, section by section."""

import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"
TEXT = PATH.read_text()


def run_section(title, folder, monkeypatch):
    """Runs the section's one block of Python in a folder; gives its variables."""
    [section] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    [block] = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(folder)
    variables = {}
    exec(compile(block, f"docs/python.md, {title}", "exec"), variables)
    return variables
