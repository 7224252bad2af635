"""What the tests of docs/emitted_source.md share: models as they were written, beside what is emitted."""

import ast
import inspect
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/emitted_source.md"
LONGEST = 1.5  # times the lines of the original


def classes_in(source):
    """The text of the classes of a module, with what decorates them."""
    lines = source.splitlines()
    texts = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            texts.append("\n".join(lines[first - 1:node.end_lineno]))
    return "\n\n\n".join(texts) + "\n"


def original_of(classes):
    return "\n\n".join(inspect.getsource(each) for each in classes)


def complaints(file):
    """What ruff, which is in the environment of the other tests, says of a file."""
    ruff = '"$(dirname "$ONWARD_TEST_PYTHON")/ruff" "$@"'
    done = subprocess.run([ROOT / "tools/setup.py", "tests", "sh", "-c", ruff, "ruff", "check", "--isolated", "--no-cache",
                           "--extend-select", "W,I,B,UP,C4", file], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def section(title, original, emitted):
    return (f"## {title}\n\nAs it was written, {len(original.splitlines())} lines:\n\n```python\n{original}```\n\n"
            f"As it is emitted, {len(emitted.splitlines())} lines:\n\n```python\n{emitted}```\n")


def write_sections(sections):
    """Writes sections anew, by their titles; those that are not on the page yet come last."""
    first, *old = PAGE.read_text().split("\n## ")
    texts = {each.splitlines()[0]: "## " + each.rstrip() + "\n" for each in old}
    PAGE.write_text("\n".join([first.rstrip() + "\n", *(texts | sections).values()]))
