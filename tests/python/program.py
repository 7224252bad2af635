"""The program, beside the package."""

import os
import subprocess


def onward_program(*arguments):
    # Under a sanitizer Python is told to load its runtime, which the program has in itself.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run([os.environ["ONWARD"], *arguments], capture_output=True, text=True, env=environment)
