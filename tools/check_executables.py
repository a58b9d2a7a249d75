#!/usr/bin/env python3
"""Checks that a tracked file is executable exactly when it begins with `#!`.

Git keeps the bit, and a script without it fails only on somebody else's fresh clone.
"""

import pathlib
import subprocess
import sys


def main() -> int:
    faults = 0
    listing = subprocess.run(["git", "ls-files", "-s", "-z"], capture_output=True, check=True)
    for entry in listing.stdout.decode().split("\0"):
        if not entry:
            continue
        mode, path = entry.split(" ", 1)[0], entry.split("\t", 1)[1]
        file = pathlib.Path(path)
        if not file.is_file():
            continue
        with file.open("rb") as content:
            is_script = content.read(2) == b"#!"
        if is_script and mode != "100755":
            print(f"{path}: a script that is not executable; git update-index --chmod=+x {path}")
        elif not is_script and mode == "100755":
            print(f"{path}: executable, but it does not begin with #!")
        else:
            continue
        faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
