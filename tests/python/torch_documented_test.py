"""docs/python.md on PyTorch. Run as a program, it writes the list of functions anew."""

import re
import textwrap

from documented import PATH, TEXT, run_section

from onward import _torch_program as programs

LIST = re.compile(r"(?<=<!-- functions -->\n).*?(?=\n\n)", re.DOTALL)


def function_list():
    names = sorted(name for name in programs.FUNCTIONS if not name.startswith("_"))
    return textwrap.fill(", ".join(f"`{name}`" for name in names) + ".", 118, break_on_hyphens=False)


def test_pytorch_is_as_documented(tmp_path, monkeypatch):
    variables = run_section("From PyTorch", tmp_path, monkeypatch)
    assert variables["trainer"].state()["step"] == 2


def test_all_functions_are_documented():
    assert LIST.search(TEXT)[0] == function_list()


if __name__ == "__main__":
    PATH.write_text(LIST.sub(function_list(), TEXT))
