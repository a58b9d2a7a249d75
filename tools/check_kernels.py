#!/usr/bin/env python3
"""Checks the kernel files' names, their scalar siblings, tests and benchmarks, and their objects.

Names: operation first, ISA last. Objects (with --objects BUILD_DIR): an ISA file must define no
weak symbol, or the linker could pick its copy of an inline function for code that runs on every
processor.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ISAS = ("scalar", "avx2", "avxvnni", "avx512vnni", "amx", "neon", "dotprod", "i8mm")
OPERATIONS = ("matmul", "attention", "elementwise")
NAME = re.compile(rf"^(?P<kernel>[a-z0-9_]+)_(?P<isa>{'|'.join(ISAS)})\.cc$")


def check_file(path: pathlib.Path, operation: str) -> list[str]:
    match = NAME.match(path.name)
    if match is None:
        return [] if path.name == f"{operation}.cc" else [f"{path}: no ISA suffix"]
    errors = []
    if not match["kernel"].startswith(operation):
        errors.append(f"{path}: must start with '{operation}'")
    if not (path.parent / f"{match['kernel']}_scalar.cc").exists():
        errors.append(f"{path}: has no scalar reference {match['kernel']}_scalar.cc")
    return errors


def check_names(root: pathlib.Path) -> list[str]:
    errors = []
    for operation in OPERATIONS:
        for path in sorted((root / "src/kernels" / operation).glob("*.cc")):
            errors += check_file(path, operation)
        for place in (f"tests/kernels/{operation}_test.cc", f"bench/kernels/{operation}_bench.cc"):
            if not (root / place).exists():
                errors.append(f"{place} is missing")
    return errors


def check_objects(build: pathlib.Path) -> list[str]:
    errors = []
    for path in sorted(build.rglob("*.cc.o")):
        match = NAME.match(path.name.removesuffix(".o"))
        if match is None or match["isa"] == "scalar":
            continue
        command = ["nm", "-C", "--defined-only", str(path)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        symbols = [line.split(maxsplit=2) for line in lines.splitlines()]
        weak = [symbol[2] for symbol in symbols if symbol[1] in "WVu"]
        if weak:
            errors.append(f"{path}: weak symbols: {', '.join(weak[:3])}")
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=".", type=pathlib.Path)
    parser.add_argument("--objects", type=pathlib.Path, metavar="BUILD_DIR")
    arguments = parser.parse_args()
    errors = check_names(arguments.root)
    if arguments.objects:
        errors += check_objects(arguments.objects)
    print("\n".join(errors) or "kernels: names, references, tests and objects in order")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
