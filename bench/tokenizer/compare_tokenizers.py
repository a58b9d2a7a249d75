#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoding speed beside Hugging Face `tokenizers` and tiktoken, on Qwen3's vocabulary.

English (a novel), Chinese (book reviews) and code (Django), 1 MB each, whole and cut into strings
of 200 characters. The three run in turn, five times; the table shows medians and ratios. tiktoken
and `tokenizers` are warmed by a run on the same text first. One thread each.

Needs: pip install tokenizers tiktoken; tools/fetch_test_models.py --bench; tokenizer_bench built
with -DWHINCHAT_BUILD_BENCHMARKS=ON.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import tiktoken  # noqa: E402
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT_CHARACTERS = 200


def byte_level_alphabet():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(others)}


def load_tiktoken(path):
    spec = json.loads(path.read_text())
    alphabet = byte_level_alphabet()
    ranks = {bytes(alphabet[c] for c in t): i for t, i in spec["model"]["vocab"].items()}
    pattern = spec["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    return tiktoken.Encoding("qwen3", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def seconds(encode, strings):
    start = time.perf_counter()
    for text in strings:
        encode(text)
    return time.perf_counter() - start


def own_seconds(program, tokenizer, text_path, kind):
    name = f"{text_path.stem}/{kind}"
    command = [
        program,
        tokenizer,
        text_path,
        f"--benchmark_filter=^{name}$",
        "--benchmark_format=json",
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output)["benchmarks"][0]["real_time"] * 1e-9


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--program",
        type=pathlib.Path,
        default=ROOT / "build/release/bench/tokenizer/tokenizer_bench",
    )
    parser.add_argument("--test-models", type=pathlib.Path, default=ROOT / "build/testdata")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    tokenizer_path = arguments.test_models / "qwen3/tokenizer.json"
    reference = tokenizers.Tokenizer.from_file(str(tokenizer_path))
    other = load_tiktoken(tokenizer_path)
    print(f"tokenizers {tokenizers.__version__}, tiktoken {tiktoken.__version__}")
    print(f"MB/s, median of {arguments.rounds}")
    print(f"{'text':<20}{'whinchat':>10}{'tokenizers':>12}{'ratio':>8}{'tiktoken':>10}{'ratio':>8}")
    for name in ["english", "chinese", "code"]:
        path = arguments.test_models / f"text/{name}.txt"
        text = path.read_text()
        num_bytes = len(text.encode())
        cut = [text[i : i + SHORT_CHARACTERS] for i in range(0, len(text), SHORT_CHARACTERS)]
        for kind, strings in [("document", [text]), ("strings", cut)]:
            times = {"own": [], "reference": [], "other": []}
            seconds(reference.encode, strings)
            seconds(other.encode_ordinary, strings)
            for _ in range(arguments.rounds):
                times["own"].append(own_seconds(arguments.program, tokenizer_path, path, kind))
                times["reference"].append(seconds(reference.encode, strings))
                times["other"].append(seconds(other.encode_ordinary, strings))
            own, ref, oth = (num_bytes / 1e6 / statistics.median(t) for t in times.values())
            row = f"{name + '/' + kind:<20}{own:>10.1f}{ref:>12.2f}{own / ref:>8.1f}"
            print(f"{row}{oth:>10.2f}{own / oth:>8.1f}")


if __name__ == "__main__":
    main()
