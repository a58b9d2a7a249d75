#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/model: tiny random models of each architecture and what transformers answers.

Each folder holds config.json and model.safetensors as save_pretrained writes them (bf16) and
golden.bin: for some prompts the 64 highest logits and the logsumexp at some positions, computed in
fp32 from the same bf16 weights, and the first 64 greedy tokens after one prompt. Models that differ
from another one in their configuration only hold no weights of their own.

golden.bin, little endian:
  char[8] "WCGOLDEN", u32 number of prompts, then for each prompt:
    u32 number of tokens, u32 number of positions, u32 number of greedy tokens
    i32 tokens[], i32 greedy_tokens[]
    positions: u32 position, f32 logsumexp, u16 token_ids[64], f32 logits[64]

    python make_model_golden.py ../../tests/golden/model
    python make_model_golden.py --smollm2 SmolLM2-135M-Instruct.Q4_1.gguf ../../tests/golden/model
"""

import argparse
import json
import pathlib
import shutil
import struct

import gguf
import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

TOP = 64
NUM_GREEDY = 64
MIN_MARGIN = 4e-3  # between the first and second logit of every greedy step

SMALL = dict(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=1024,
)
LLAMA3_ROPE = dict(
    rope_type="llama3",
    rope_theta=10000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=64,
)

# name -> (config, seed, scale of the embedding and of what layers add to it, prompt lengths)
MODELS = {
    # head_dim apart from hidden_size / num_heads; tied; odd vocabulary; three spans of 256.
    "qwen3": (
        Qwen3Config(**SMALL, head_dim=32, vocab_size=211, tie_word_embeddings=True),
        1,
        (0.3, 2.0),
        [1, 2, 31, 33, 700],
    ),
    # biases on q, k and v; untied head.
    "qwen2": (
        Qwen2Config(**SMALL, vocab_size=197, tie_word_embeddings=False, rope_theta=1e6),
        2,
        (1.0, 2.0),
        [1, 7, 32, 64],
    ),
    # three query heads to a KV head; untied head.
    "llama": (
        LlamaConfig(
            **{**SMALL, "hidden_size": 96, "num_attention_heads": 6, "intermediate_size": 64},
            vocab_size=131,
            tie_word_embeddings=False,
        ),
        3,
        (1.0, 2.0),
        [1, 5, 34, 70],
    ),
    # a large vocabulary with peaked softmax; heads of 16 with a KV head each.
    "llama_large_vocab": (
        LlamaConfig(
            **{**SMALL, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2},
            vocab_size=4099,
            tie_word_embeddings=True,
        ),
        4,
        (1.2, 8.0),
        [1, 3, 40],
    ),
}
# name -> (model whose weights it uses, its rope_parameters, prompt lengths)
VARIANTS = {
    "llama_rope_llama3": ("llama", LLAMA3_ROPE, [1, 64, 300]),
    "llama_rope_linear": (
        "llama",
        dict(rope_type="linear", rope_theta=10000.0, factor=4.0),
        [1, 70],
    ),
}


def randomize(model, seed, embedding_scale, layer_scale):
    """Activations near 1, uneven norm gains, attention far from uniform."""
    generator = torch.Generator().manual_seed(seed)

    def normal(parameter, scale):
        parameter.data = torch.randn(parameter.shape, generator=generator) * scale

    for name, parameter in model.named_parameters():
        if "norm" in name:
            parameter.data = 0.5 + torch.rand(parameter.shape, generator=generator)
        elif name.endswith(".bias"):
            normal(parameter, 0.5)
        elif "embed_tokens" in name:
            normal(parameter, embedding_scale)
        elif "q_proj" in name or "k_proj" in name:
            normal(parameter, 1.5 * parameter.shape[1] ** -0.5)
        elif "o_proj" in name or "down_proj" in name:
            normal(parameter, layer_scale * parameter.shape[1] ** -0.5)
        else:
            normal(parameter, parameter.shape[1] ** -0.5)


def kept_positions(num_tokens):
    """Every position of short prompts; of long ones every 16th and those around span borders."""
    if num_tokens <= 100:
        return list(range(num_tokens))
    kept = set(range(0, num_tokens, 16)) | {num_tokens - 1}
    for border in (32, 64, 256, 512):
        kept |= set(range(border - 3, border + 4))
    return sorted(p for p in kept if p < num_tokens)


def run(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].float()


def greedy(model, tokens):
    """The greedy continuation and the smallest margin of its steps."""
    ids, margin = list(tokens), float("inf")
    for _ in range(NUM_GREEDY):
        best = run(model, ids)[-1].topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
    return ids[len(tokens) :], margin


def pack_prompt(tokens, logits, positions, greedy_tokens):
    packed = struct.pack("<3I", len(tokens), len(positions), len(greedy_tokens))
    packed += np.array(tokens + greedy_tokens, "<i4").tobytes()
    for position in positions:
        row = logits[position]
        top = row.topk(TOP)
        logsumexp = float(torch.logsumexp(row.double(), 0))
        packed += struct.pack("<If", position, logsumexp)
        packed += top.indices.numpy().astype("<u2").tobytes()
        packed += top.values.numpy().astype("<f4").tobytes()
    return packed


def write_golden(path, prompts):
    path.write_bytes(b"WCGOLDEN" + struct.pack("<I", len(prompts)) + b"".join(prompts))
    print(path, path.stat().st_size, "bytes")


def make_golden(model, folder, seed, lengths):
    rng = np.random.default_rng(seed)
    vocab_size = model.config.vocab_size
    prompts = []
    for length in lengths:
        tokens = rng.integers(0, vocab_size, length).tolist()
        prompts.append(pack_prompt(tokens, run(model, tokens), kept_positions(length), []))
    for _ in range(200):  # a prompt whose greedy steps are all clear
        tokens = rng.integers(0, vocab_size, 9).tolist()
        continuation, margin = greedy(model, tokens)
        if margin > MIN_MARGIN and len(set(continuation)) >= 6:
            break
    else:
        raise SystemExit(f"{folder}: no prompt with clear greedy steps")
    print(folder.name, "greedy:", len(set(continuation)), "distinct tokens, margin", margin)
    last = len(tokens) - 1
    prompts.append(pack_prompt(tokens, run(model, tokens), [last], continuation))
    write_golden(folder / "golden.bin", prompts)


def make_small_models(out):
    for name, (config, seed, scales, lengths) in MODELS.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        model = AutoModelForCausalLM.from_config(config)
        randomize(model, seed, *scales)
        model.tie_weights()
        model.to(torch.bfloat16).save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        make_golden(load_fp32(folder), folder, seed, lengths)
        print("  weights", (folder / "model.safetensors").stat().st_size, "bytes")
    for name, (weights, rope, lengths) in VARIANTS.items():
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        config = json.loads((out / weights / "config.json").read_text())
        config["rope_parameters"] = rope
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        shutil.copy(out / weights / "model.safetensors", folder)
        make_golden(load_fp32(folder), folder, 5, lengths)
        (folder / "model.safetensors").unlink()


def load_fp32(folder):
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    return model.eval()


def load_gguf_fp32(path):
    """A Llama GGUF file, dequantized by the gguf package, as transformers' model in fp32."""
    reader = gguf.GGUFReader(path)

    def value(key):
        return reader.get_field("llama." + key).contents()

    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    config = LlamaConfig(
        hidden_size=value("embedding_length"),
        intermediate_size=value("feed_forward_length"),
        num_hidden_layers=value("block_count"),
        num_attention_heads=value("attention.head_count"),
        num_key_value_heads=value("attention.head_count_kv"),
        vocab_size=tensors["token_embd.weight"].shape[0],
        max_position_embeddings=value("context_length"),
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        rope_theta=value("rope.freq_base"),
        tie_word_embeddings="output.weight" not in tensors,
        attn_implementation="eager",
    )

    def halves(
        name, num_heads
    ):  # rows of a head: pairs side by side -> first halves, second halves
        w = tensors[name]
        head = w.reshape(num_heads, w.shape[0] // num_heads // 2, 2, w.shape[1])
        return head.swapaxes(1, 2).reshape(w.shape)

    state = {
        "model.embed_tokens.weight": tensors["token_embd.weight"],
        "model.norm.weight": tensors["output_norm.weight"],
    }
    parts = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for i in range(config.num_hidden_layers):
        layer, block = f"model.layers.{i}.", f"blk.{i}."
        for name, gguf_name in parts.items():
            state[f"{layer}{name}.weight"] = tensors[f"{block}{gguf_name}.weight"]
        for x, heads in (("q", config.num_attention_heads), ("k", config.num_key_value_heads)):
            state[f"{layer}self_attn.{x}_proj.weight"] = halves(f"{block}attn_{x}.weight", heads)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    state = {name: torch.from_numpy(np.ascontiguousarray(w)) for name, w in state.items()}
    result = model.load_state_dict(state, strict=False)
    assert not result.unexpected_keys and result.missing_keys == ["lm_head.weight"], result
    model.tie_weights()
    return model.eval()


def make_smollm2(gguf_path, text_path, out):
    """The Q4_1 file dequantized and run in fp32 over a fixed text."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        str(gguf_path.parent), gguf_file=gguf_path.name
    )
    tokens = tokenizer.encode(text_path.read_text())[:2000]
    assert len(tokens) == 2000, len(tokens)
    model = load_gguf_fp32(gguf_path)
    logits = run(model, tokens)
    labels = torch.tensor(tokens[1:])
    print("perplexity", float(torch.nn.functional.cross_entropy(logits[:-1], labels).exp()))
    positions = sorted(set(range(0, 2000, 16)) | set(range(0, 40)) | {255, 256, 257, 1999})
    continuation, margin = greedy(model, tokens[:40])
    print("greedy margin", margin, repr(tokenizer.decode(continuation)))
    prompts = [
        pack_prompt(tokens, logits, positions, []),
        pack_prompt(tokens[:40], logits, [39], continuation if margin > MIN_MARGIN else []),
    ]
    write_golden(out / "smollm2_q4_1.bin", prompts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--smollm2", type=pathlib.Path, help="the Q4_1 GGUF file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.smollm2:
        make_smollm2(args.smollm2, args.out / "smollm2_text.txt", args.out)
    else:
        make_small_models(args.out)
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    (args.out / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")


if __name__ == "__main__":
    main()
