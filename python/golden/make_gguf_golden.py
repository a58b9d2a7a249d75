#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/gguf/: blocks of every GGUF type with their values, and a small GGUF file.

Each <type>.bin is: u32 number of values, the blocks, the values as fp32 (little endian).
The blocks are random bits with sane fp16 scales (some negative, some denormal), then, for the types
that the gguf package can quantize, blocks made from normally distributed weights.
small.gguf is written by the gguf package: every metadata value type, one tensor of every type;
small.json tells what is in it, tensor data by their FNV-1a hash.
Run with gguf and numpy installed; the result is the same for the same versions.
"""

import importlib.metadata
import json
import pathlib
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


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


def random_blocks(rng, dtype):
    block_elements, block_bytes = gguf.GGML_QUANT_SIZES[dtype]
    num_blocks = NUM_RANDOM_VALUES // block_elements
    blocks = rng.integers(0, 256, size=(num_blocks, block_bytes), dtype=np.uint8)
    for offset in SCALE_OFFSETS[dtype]:
        scales = np.exp(rng.uniform(np.log(1e-4), np.log(0.1), size=num_blocks)) * rng.choice(
            [-1, 1], size=num_blocks
        )
        scales[0] = 3e-6  # an fp16 denormal
        blocks[:, offset : offset + 2] = (
            scales.astype(np.float16).view(np.uint8).reshape(num_blocks, 2)
        )
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


def write_small_file(folder):
    rng = np.random.default_rng(SEED + 1)
    path = folder / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    metadata = {
        "test.uint8": (writer.add_uint8, 255),
        "test.int8": (writer.add_int8, -128),
        "test.uint16": (writer.add_uint16, 65535),
        "test.int16": (writer.add_int16, -32768),
        "test.uint32": (writer.add_uint32, 4294967295),
        "test.int32": (writer.add_int32, -2147483648),
        "test.float32": (writer.add_float32, 0.15625),
        "test.uint64": (writer.add_uint64, 18446744073709551615),
        "test.int64": (writer.add_int64, -9223372036854775808),
        "test.float64": (writer.add_float64, 1.1),
        "test.bool": (writer.add_bool, True),
        "test.string": (writer.add_string, "Wiesenschmätzer 草原石䳭"),
        "test.ints": (writer.add_array, [1, -2, 3]),
        "test.floats": (writer.add_array, [0.5, -0.25]),
        "test.bools": (writer.add_array, [True, False]),
        "test.strings": (writer.add_array, ["a", "", "漢字"]),
        "test.nested": (writer.add_array, [[1, 2], [3]]),
    }
    for key, (add, value) in metadata.items():
        add(key, value)
    writer.add_array("tokenizer.ggml.tokens", [f"token{i}" for i in range(1500)])
    writer.add_array("tokenizer.ggml.scores", [float(-i) for i in range(1500)])
    writer.add_array("tokenizer.ggml.token_type", [i % 7 for i in range(1500)])

    tensors = []

    def add_tensor(name, data, shape, dtype):
        raw = None if dtype in (Type.F32, Type.F16) else dtype
        writer.add_tensor(name, data, raw_shape=None if raw is None else data.shape, raw_dtype=raw)
        tensors.append(
            {"name": name, "dtype": dtype.name, "shape": shape, "fnv1a": fnv1a(data.tobytes())}
        )

    add_tensor("vector.f32", rng.normal(size=7).astype(np.float32), [7], Type.F32)
    add_tensor("matrix.f16", rng.normal(size=(3, 5)).astype(np.float16), [3, 5], Type.F16)
    add_tensor("cube.f32", rng.normal(size=(2, 3, 4)).astype(np.float32), [2, 3, 4], Type.F32)
    bf16 = gguf.quants.quantize(rng.normal(size=(2, 6)).astype(np.float32), Type.BF16)
    add_tensor("matrix.bf16", bf16.view(np.uint8).reshape(2, 12), [2, 6], Type.BF16)
    for dtype in SCALE_OFFSETS:
        block_elements, block_bytes = gguf.GGML_QUANT_SIZES[dtype]
        data = rng.integers(0, 256, size=(3, 2 * block_bytes), dtype=np.uint8)
        add_tensor("matrix." + dtype.name.lower(), data, [3, 2 * block_elements], dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    contents = {"config": {key: value for key, (_, value) in metadata.items()}, "tensors": tensors}
    (folder / "small.json").write_text(json.dumps(contents, indent=1) + "\n")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = root / "tests/golden/gguf"
    folder.mkdir(parents=True, exist_ok=True)
    make_blocks(folder)
    write_small_file(folder)
    versions = {"gguf": importlib.metadata.version("gguf"), "numpy": np.__version__}
    (folder / "made_with.json").write_text(json.dumps({"seed": SEED, **versions}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
