#!/usr/bin/env python3
"""Fails if a file in src/ includes a header of a module that src/MODULES does not list for it."""

import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"(\w+)/')


def read_modules(path: pathlib.Path) -> dict[str, set[str]]:
    """Returns module -> modules it may include, in the file's order."""
    allowed: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        module, *dependencies = line.split()
        above = [name for name in dependencies if name != "*" and name not in allowed]
        if above:
            sys.exit(f"src/MODULES: {module} lists {', '.join(above)}, which is not below it")
        everything = set(allowed) if dependencies == ["*"] else set(dependencies)
        allowed[module] = everything | {"base", module}
    return allowed


def check_file(path: pathlib.Path, root: pathlib.Path, allowed: dict[str, set[str]]) -> list[str]:
    module, *rest = path.relative_to(root / "src").parts
    if not rest:
        return []
    if module not in allowed:
        return [f"{path}: module '{module}' is not in src/MODULES"]
    errors = [f"{path}: more than two levels under src/"] if len(rest) > 2 else []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match[1] in allowed and match[1] not in allowed[module]:
            errors.append(f"{path}:{number}: {module} may not include {match[1]}")
    return errors


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    allowed = read_modules(root / "src/MODULES")
    errors = []
    for path in sorted((root / "src").rglob("*.[ch]*")):
        errors += check_file(path, root, allowed)
    print("\n".join(errors) or f"layering: {len(allowed)} modules in order")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
