#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/gguf/: blocks of every GGUF type with their values, after the gguf package.

Each <type>.bin is: u32 number of values, the blocks, the values as fp32 (little endian).
The blocks are random bits with sane fp16 scales (some negative, some denormal), then, for the types
that the gguf package can quantize, blocks made from normally distributed weights.
Run with gguf and numpy installed; the result is the same for the same versions.
"""

import json
import pathlib
import platform
import struct
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

SEED = 20240611
NUM_RANDOM_VALUES = 2048
NUM_REAL_VALUES = 1024
# Byte offsets of the fp16 fields of one block.
SCALE_OFFSETS = {
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.Q8_0: [0],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.IQ4_NL: [0],
    Type.IQ4_XS: [0],
}
QUANTIZABLE = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]


def random_blocks(rng, dtype):
    block_elements, block_bytes = gguf.GGML_QUANT_SIZES[dtype]
    num_blocks = NUM_RANDOM_VALUES // block_elements
    blocks = rng.integers(0, 256, size=(num_blocks, block_bytes), dtype=np.uint8)
    for offset in SCALE_OFFSETS[dtype]:
        scales = np.exp(rng.uniform(np.log(1e-4), np.log(0.1), size=num_blocks)) * rng.choice([-1, 1], size=num_blocks)
        scales[0] = 3e-6  # an fp16 denormal
        blocks[:, offset : offset + 2] = scales.astype(np.float16).view(np.uint8).reshape(num_blocks, 2)
    return blocks.reshape(-1)


def make_blocks(folder):
    rng = np.random.default_rng(SEED)
    for dtype in SCALE_OFFSETS:
        blocks = random_blocks(rng, dtype)
        if dtype in QUANTIZABLE:
            weights = rng.normal(0, 0.02, size=NUM_REAL_VALUES).astype(np.float32)
            blocks = np.concatenate([blocks, gguf.quants.quantize(weights, dtype).reshape(-1)])
        values = gguf.quants.dequantize(blocks, dtype).astype("<f4").reshape(-1)
        assert np.isfinite(values).all()
        path = folder / f"{dtype.name.lower()}.bin"
        path.write_bytes(struct.pack("<I", values.size) + blocks.tobytes() + values.tobytes())


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = root / "tests/golden/gguf"
    folder.mkdir(parents=True, exist_ok=True)
    make_blocks(folder)
    versions = {"gguf": gguf.__version__ if hasattr(gguf, "__version__") else "0.19.0", "numpy": np.__version__}
    versions["python"] = platform.python_version()
    (folder / "made_with.json").write_text(json.dumps({"seed": SEED, **versions}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
