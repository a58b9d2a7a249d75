#!/usr/bin/env python3
"""Fails if a path in backticks in a Markdown file does not exist.

A path is a backticked word with a slash or a known file suffix, relative to the root, to src/, or
to the Markdown file itself. Addresses, commands and patterns are left alone.
"""

import pathlib
import re
import subprocess
import sys

SUFFIXES = (".cc", ".h", ".py", ".md", ".sh", ".rs", ".cmake", ".json", ".toml", ".txt", ".yaml")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"^[\w.][\w./-]*$")
# Files of users and of models, and what a build makes.
FOREIGN = {
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
}
FOREIGN_FOLDERS = ("v1/", "build/", "application/", "text/")


def is_path(word: str, root: pathlib.Path) -> bool:
    if not PATH.match(word) or word in FOREIGN or word.startswith(FOREIGN_FOLDERS):
        return False
    if word.endswith(SUFFIXES):
        return True
    top = word.split("/")[0]
    return "/" in word and ((root / top).exists() or (root / "src" / top).exists())


def check_document(root: pathlib.Path, name: str) -> tuple[list[str], int]:
    errors, count = [], 0
    document = root / name
    for number, line in enumerate(document.read_text().splitlines(), 1):
        for word in filter(lambda w: is_path(w, root), CODE.findall(line)):
            count += 1
            places = (root / word, root / "src" / word, document.parent / word)
            if not any(place.exists() for place in places):
                errors.append(f"{name}:{number}: no such path: {word}")
    return errors, count


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    command = ["git", "-C", str(root), "ls-files", "*.md"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    results = [check_document(root, name) for name in names]
    errors = [error for found, _ in results for error in found]
    print("\n".join(errors) or f"docs: {sum(count for _, count in results)} paths exist")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
