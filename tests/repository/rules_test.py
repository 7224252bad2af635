"""docs/training-files.md lists exactly the rules that the checks report."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def documented_rules():
    text = (ROOT / "docs/training-files.md").read_text()
    table = text.split("| rule | |")[1]
    first_cells = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
    return {rule for cell in first_cells for rule in re.findall(r"`([a-z-]+)`", cell)}


def reported_rules():
    sources = "\n".join(file.read_text() for folder in ("format", "infer", "check", "cli")
                        for file in (ROOT / "src" / folder).rglob("*.cpp"))
    # A rule is the first argument of report(...), wrong(...), refuse(...) or a Refusal, or a Problem's
    # .rule.
    found = re.findall(r'\.rule = "([a-z-]+)"', sources)
    found += re.findall(r'\b(?:report|wrong|refuse)\(\s*"([a-z-]+)",', sources)
    found += re.findall(r'(?:Refusal|report\(node, )\{"([a-z-]+)",', sources)
    found += re.findall(r'\? "([a-z-]+)"\s*:\s*"[a-z-]+",\s*context', sources)
    found += re.findall(r'\? "[a-z-]+"\s*:\s*"([a-z-]+)",\s*context', sources)
    return set(found)


def test_every_rule_is_documented():
    assert reported_rules() - documented_rules() == set()


def test_no_rule_is_only_documented():
    text = "\n".join(file.read_text() for folder in ("format", "infer", "check", "cli")
                     for file in (ROOT / "src" / folder).rglob("*.*"))
    assert {rule for rule in documented_rules() if f'"{rule}"' not in text} == set()
