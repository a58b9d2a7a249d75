#!/usr/bin/env python3
"""Writes a GGUF file of Qwen3-0.6B's true shape with random weights, for speed measurements.

Qwen3-0.6B's own weights are in no package registry; speed depends on the shape and the types only.
The vocabulary is made of placeholder tokens, so the file runs, but says nothing.
"""

import argparse

import gguf
import numpy as np

NUM_LAYERS = 28
HIDDEN_SIZE = 1024
INTERMEDIATE_SIZE = 3072
NUM_HEADS = 16
NUM_KV_HEADS = 8
HEAD_DIM = 128
VOCAB_SIZE = 151936
TYPES = {"q8_0": gguf.GGMLQuantizationType.Q8_0, "q4_0": gguf.GGMLQuantizationType.Q4_0}
FILE_TYPES = {"q8_0": gguf.LlamaFileType.MOSTLY_Q8_0, "q4_0": gguf.LlamaFileType.MOSTLY_Q4_0}


def random_blocks(rng: np.random.Generator, type_name: str, rows: int, columns: int) -> np.ndarray:
    """Random codes with one fp16 scale a block of 32, chosen so that activations stay near 1."""
    num_blocks = rows * columns // 32
    code_bytes = 32 if type_name == "q8_0" else 16
    spread = 127 / 3**0.5 if type_name == "q8_0" else 8 / 3**0.5
    scale = np.float16(1 / (spread * columns**0.5))
    blocks = rng.integers(0, 256, size=(num_blocks, 2 + code_bytes), dtype=np.uint8)
    blocks[:, :2] = np.frombuffer(scale.tobytes(), dtype=np.uint8)
    if type_name == "q8_0":
        codes = blocks[:, 2:]
        codes[codes == 128] = 129  # -128 never occurs in Q8_0
    return blocks.reshape(rows, -1)


def add_metadata(writer: gguf.GGUFWriter, type_name: str) -> None:
    writer.add_block_count(NUM_LAYERS)
    writer.add_context_length(40960)
    writer.add_embedding_length(HIDDEN_SIZE)
    writer.add_feed_forward_length(INTERMEDIATE_SIZE)
    writer.add_head_count(NUM_HEADS)
    writer.add_head_count_kv(NUM_KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(FILE_TYPES[type_name])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([f"t{i}" for i in range(VOCAB_SIZE)])
    writer.add_token_types([gguf.TokenType.NORMAL] * VOCAB_SIZE)
    writer.add_token_merges(["t 1"])
    writer.add_eos_token_id(VOCAB_SIZE - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    parser.add_argument("--type", choices=sorted(TYPES), default="q4_0")
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(arguments.output, "qwen3")
    add_metadata(writer, arguments.type)

    def add_matrix(name: str, rows: int, columns: int) -> None:
        blocks = random_blocks(rng, arguments.type, rows, columns)
        writer.add_tensor(name, blocks, raw_dtype=TYPES[arguments.type])

    def add_gain(name: str, size: int) -> None:
        writer.add_tensor(name, np.ones(size, dtype=np.float32))

    add_matrix("token_embd.weight", VOCAB_SIZE, HIDDEN_SIZE)
    add_gain("output_norm.weight", HIDDEN_SIZE)
    for i in range(NUM_LAYERS):
        prefix = f"blk.{i}."
        add_gain(prefix + "attn_norm.weight", HIDDEN_SIZE)
        add_matrix(prefix + "attn_q.weight", NUM_HEADS * HEAD_DIM, HIDDEN_SIZE)
        add_matrix(prefix + "attn_k.weight", NUM_KV_HEADS * HEAD_DIM, HIDDEN_SIZE)
        add_matrix(prefix + "attn_v.weight", NUM_KV_HEADS * HEAD_DIM, HIDDEN_SIZE)
        add_gain(prefix + "attn_q_norm.weight", HEAD_DIM)
        add_gain(prefix + "attn_k_norm.weight", HEAD_DIM)
        add_matrix(prefix + "attn_output.weight", HIDDEN_SIZE, NUM_HEADS * HEAD_DIM)
        add_gain(prefix + "ffn_norm.weight", HIDDEN_SIZE)
        add_matrix(prefix + "ffn_gate.weight", INTERMEDIATE_SIZE, HIDDEN_SIZE)
        add_matrix(prefix + "ffn_up.weight", INTERMEDIATE_SIZE, HIDDEN_SIZE)
        add_matrix(prefix + "ffn_down.weight", HIDDEN_SIZE, INTERMEDIATE_SIZE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
