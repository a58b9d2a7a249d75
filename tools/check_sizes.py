#!/usr/bin/env python3
"""Fails on files over 500 lines (kernels 800), functions over 60 lines or over 6 parameters.

Functions are found by Universal Ctags; kernels and tests are exempt from the function limits.
Nesting is checked by clang-tidy (readability-function-size).
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

MAX_FILE_LINES = 500
MAX_KERNEL_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 6
SUFFIXES = {".cc", ".h", ".py", ".rs", ".sh", ".ts", ".cmake"}
FOLDERS = ["src", "include", "tests", "bench", "tools", "python", "rust", "web", "cmake"]
FORBIDDEN_NAMES = set(
    ["util", "utils", "helper", "helpers", "common", "misc", "manager", "data", "info", "impl"]
)


def source_files(root: pathlib.Path) -> list[pathlib.Path]:
    command = ["git", "-C", str(root), "ls-files", *FOLDERS]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = [pathlib.Path(name) for name in tracked.splitlines()]
    return [path for path in paths if path.suffix in SUFFIXES and (root / path).is_file()]


def count_parameters(signature: str) -> int:
    depth, count = 0, 0
    inner = signature.strip()[1:].rsplit(")", 1)[0].strip()
    if not inner or inner == "void":
        return 0
    for char in inner:
        depth += char in "(<[{"
        depth -= char in ")>]}"
        count += char == "," and depth == 0
    return count + 1


def check_functions(root: pathlib.Path, paths: list[pathlib.Path]) -> list[str]:
    if shutil.which("ctags") is None:
        sys.exit("check_sizes: needs universal-ctags (make deps-test)")
    command = ["ctags", "--output-format=json", "--fields=+neS", "--languages=C++,Python"]
    command += ["--kinds-C++=f", "--kinds-Python=fm", "--map-C++=+.cc", "--map-C++=+.h"]
    command += ["-o", "-", "-L", "-"]
    names = "\n".join(map(str, paths))
    run = subprocess.run(command, input=names, capture_output=True, text=True, check=True, cwd=root)
    errors = []
    for tag in map(json.loads, run.stdout.splitlines()):
        if "end" not in tag:
            continue
        place = f"{tag['path']}:{tag['line']}: {tag['name']}"
        length = tag["end"] - tag["line"] + 1
        if length > MAX_FUNCTION_LINES:
            errors.append(f"{place} has {length} lines, {MAX_FUNCTION_LINES} are allowed")
        parameters = count_parameters(tag.get("signature", "()"))
        if parameters > MAX_PARAMETERS:
            errors.append(f"{place} has {parameters} parameters, {MAX_PARAMETERS} are allowed")
    return errors


def check_file(root: pathlib.Path, path: pathlib.Path) -> list[str]:
    limit = MAX_KERNEL_FILE_LINES if "kernels" in path.parts else MAX_FILE_LINES
    num_lines = len((root / path).read_text(errors="replace").splitlines())
    errors = []
    if num_lines > limit:
        errors.append(f"{path}: {num_lines} lines, {limit} are allowed")
    words = set(re.split(r"[_.]", path.stem.lower())) | {part.lower() for part in path.parts[:-1]}
    if FORBIDDEN_NAMES & words and path.stem.removesuffix("_test") != "block_manager":
        errors.append(f"{path}: '{', '.join(FORBIDDEN_NAMES & words)}' says nothing as a name")
    return errors


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    paths = source_files(root)
    errors = [error for path in paths for error in check_file(root, path)]
    exempt = {"kernels", "tests"}
    errors += check_functions(
        root, [p for p in paths if not exempt & set(p.parts) and p.suffix in {".cc", ".h", ".py"}]
    )
    print("\n".join(errors) or f"sizes: {len(paths)} files within bounds")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
