#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/safetensors/: two small Hugging Face folders written by safetensors itself.

single/ has one model.safetensors with a tensor of every dtype the reader knows; sharded/ has the
same tensors in two files with an index. contents.json tells what is in them, data by FNV-1a.
Run with safetensors, torch and numpy installed; the result is the same for the same versions.
"""

import importlib.metadata
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

SEED = 20240612
SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


def make_tensors():
    generator = torch.Generator().manual_seed(SEED)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    return {
        "model.embed_tokens.weight": normal(16, 8).bfloat16(),
        "model.layers.0.self_attn.q_proj.weight": normal(8, 8).half(),
        "model.norm.weight": normal(8),
        "model.scalar": normal(()),
        "model.codes": torch.randint(-128, 128, (3, 5), generator=generator).to(torch.int8),
        "model.indices": torch.randint(-(2**31), 2**31, (4,), generator=generator).to(torch.int32),
        "model.positions": torch.arange(6, dtype=torch.int64).reshape(2, 3),
        "model.empty": torch.zeros(0, 4),
    }


def main():
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/safetensors"
    tensors = make_tensors()
    config = json.dumps({"architectures": ["LlamaForCausalLM"], "hidden_size": 8}, indent=1) + "\n"
    for name in ("single", "sharded"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "config.json").write_text(config)
    save_file(tensors, folder / "single/model.safetensors", metadata={"format": "pt"})
    weight_map = {name: SHARDS[i % 2] for i, name in enumerate(tensors)}
    for shard in SHARDS:
        part = {name: tensors[name] for name in tensors if weight_map[name] == shard}
        save_file(part, folder / "sharded" / shard, metadata={"format": "pt"})
    index = {
        "metadata": {"total_size": sum(t.nbytes for t in tensors.values())},
        "weight_map": weight_map,
    }
    (folder / "sharded/model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    contents = [
        {
            "name": name,
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "fnv1a": fnv1a(
                bytes(tensor.flatten().view(torch.uint8).tolist()) if tensor.numel() else b""
            ),
        }
        for name, tensor in tensors.items()
    ]
    versions = {
        package: importlib.metadata.version(package) for package in ("safetensors", "torch")
    }
    made = {"seed": SEED, "made_with": versions, "tensors": contents}
    (folder / "contents.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
