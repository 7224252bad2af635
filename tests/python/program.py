"""The program, beside the package."""

import os
import subprocess


def own_environment():
    """For a program of ours: under a sanitizer Python is told to load its runtime, which the program has in itself."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def onward_program(*arguments):
    return subprocess.run([os.environ["ONWARD"], *arguments], capture_output=True, text=True, env=own_environment())
