"""`python -m onward` is the command line: the program that lies in the package takes the place of Python."""

import os
import sys

if __name__ == "__main__":
    program = os.path.join(os.path.dirname(__file__), "bin", "onward")
    os.environ["ONWARD_PYTHON"] = sys.executable  # for what the package does
    os.execv(program, [program, *sys.argv[1:]])
