#!/usr/bin/env python3
"""Compares whinchat with llama.cpp: prefill and decode, same file, ABBA pairs in one run.

A speed here is only ever a ratio of two runs that stood beside each other: absolute figures move
with the machine. The peer runs with flash attention on and off, and its better one counts. Prints a
table and writes everything as JSON.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PROGRAM = ROOT / "build/release/whinchat"
METRICS = {"prefill": "prefill_tokens_per_second", "decode": "decode_tokens_per_second"}
# At least this much of llama.cpp's speed on the same file.
BARS = {"decode": 0.9, "prefill": 1.0}


def run_json(command: list[str], environment: dict[str, str]) -> dict:
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    if run.returncode != 0:
        sys.exit(f"compare: {' '.join(command)} failed:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


class Case:
    """One model file: how to run both programs on it, and their runs so far."""

    def __init__(self, name: str, path: pathlib.Path, arguments: argparse.Namespace):
        self.name = name
        counts = ["--prefill", str(arguments.prefill), "--decode", str(arguments.decode)]
        counts += ["--threads", str(arguments.threads), "--depth", str(arguments.depth)]
        self.own = [str(PROGRAM), "bench", "--model", str(path), "--json", "-r", "3", *counts]
        self.peer = [sys.executable, str(HERE / "peer_llama_cpp.py"), "--model", str(path), *counts]
        self.environment = {"WHINCHAT_CACHE_DIR": str(arguments.folder / "cache")}
        self.own_runs: list[dict] = []
        self.peer_runs: list[dict] = []

    def run_own(self) -> None:
        self.own_runs.append(run_json(self.own, self.environment))

    def run_peer(self) -> None:
        plain = run_json(self.peer, {})
        flash = run_json([*self.peer, "--flash-attention"], {})
        best = {key: max(plain[key], flash[key]) for key in METRICS.values()}
        self.peer_runs.append(plain | best | {"flash_attention": "better of on and off"})

    def run_pairs(self, num_pairs: int) -> None:
        run_json(self.own, self.environment)  # packs the file and warms the page cache
        for pair in range(num_pairs):
            order = [self.run_own, self.run_peer]
            for run in order if pair % 2 == 0 else reversed(order):
                run()
            print(f"  {self.name}: pair {pair + 1} of {num_pairs}", file=sys.stderr)

    def ratios(self, metric: str) -> list[float]:
        key = METRICS[metric]
        pairs = zip(self.own_runs, self.peer_runs, strict=True)
        return [own[key] / peer[key] for own, peer in pairs]

    def report(self) -> dict:
        result: dict = {"model": self.name, "own": self.own_runs, "peer": self.peer_runs}
        for metric, key in METRICS.items():
            ratios = self.ratios(metric)
            result[metric] = {
                "ratio_median": statistics.median(ratios),
                "ratio_min": min(ratios),
                "ratio_max": max(ratios),
                "bar": BARS[metric],
                "own_median": statistics.median(run[key] for run in self.own_runs),
                "peer_median": statistics.median(run[key] for run in self.peer_runs),
            }
        return result


def make_models(arguments: argparse.Namespace) -> dict[str, pathlib.Path]:
    models = arguments.folder / "models"
    models.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "tools/get_default_model.py")]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    cases = {"SmolLM2-135M Q4_1": pathlib.Path(path)}
    for type_name in ("q8_0", "q4_0"):
        path = models / f"qwen3-0.6b-shape-{type_name}.gguf"
        if not path.exists():
            partial = path.with_suffix(".partial")
            maker = [sys.executable, str(HERE / "make_random_gguf.py"), "--type", type_name]
            subprocess.run([*maker, str(partial)], check=True)
            partial.rename(path)
        cases[f"Qwen3-0.6B shape {type_name.upper()}"] = path
    return cases


def print_table(reports: list[dict]) -> bool:
    all_met = True
    print(f"{'model':26} {'phase':8} {'whinchat':>9} {'llama.cpp':>9}  ratio (min-max)     bar")
    for report in reports:
        for metric in METRICS:
            row = report[metric]
            is_met = row["ratio_median"] >= row["bar"]
            all_met &= is_met
            spread = f"{row['ratio_min']:.2f}-{row['ratio_max']:.2f}"
            speeds = f"{row['own_median']:9.1f} {row['peer_median']:9.1f}"
            verdict = f">= {row['bar']}  {'met' if is_met else 'NOT MET'}"
            name = f"{report['model']:26} {metric:8}"
            print(f"{name} {speeds}  {row['ratio_median']:5.2f} ({spread:>9})  {verdict}")
    return all_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/bench")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", help="part of a model's name")
    arguments = parser.parse_args()
    reports = []
    for name, path in make_models(arguments).items():
        if arguments.only and arguments.only.lower() not in name.lower():
            continue
        case = Case(name, path, arguments)
        case.run_pairs(arguments.pairs)
        reports.append(case.report())
    first = reports[0]
    print(f"cpu: {first['own'][0]['cpu']}")
    print(f"whinchat: isa {first['own'][0]['isa']}, {arguments.threads} threads")
    print(f"peer: {first['peer'][0]['peer']}, {first['peer'][0]['system']}")
    all_met = print_table(reports)
    output = arguments.folder / "compare.json"
    output.write_text(json.dumps(reports, indent=1))
    print(f"written to {output}")
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
