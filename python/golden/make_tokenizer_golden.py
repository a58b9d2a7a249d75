# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/tokenizer/: strings, small tokenizers, hashes of the reference's token ids.

  strings.bin            "WTC1", u32 count; each: u32 repetitions, u32 bytes, the bytes
  <name>.json            small tokenizers, trained here, one for each pre-tokenizer and each rule
  <name>.hashes          "WTH1", u32 count, u64 hash of the ids of each string with special tokens
                         parsed; u32 count, u64 hash for strings with '<' with special tokens left
                         as text and BOS added
  <name>.text.hashes     "WTH1", u32 count, u64 hash of each document of text/django.txt; u32 0
  <name>.points.hashes   "WTH1", u32 count, u64 hash of the ids of the texts of each 1,024 code
                         points (see code_point_texts); u32 0
  golden.json            versions and counts

<name> is a small tokenizer, qwen3 or smollm2 (whose files tools/fetch_test_models.py fetches).
Needs: pip install tokenizers==0.23.3 gguf; python3 tools/fetch_test_models.py.
`--show N` prints the reference's ids of string N for each tokenizer.
"""

import argparse
import importlib.metadata
import json
import pathlib
import struct

import tokenizer_corpus
from gguf import GGUFReader
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "tests/golden/tokenizer"
TEST_MODELS = ROOT / "build/testdata"
SMALL_VOCAB_SIZE = 2000
POINTS_TOKENIZERS = ["qwen2", "gpt2", "smollm"]  # together they use every class and NFC

QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def split(pattern):
    parts = [
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    return pre_tokenizers.Sequence(parts)


def special(*contents):
    return [AddedToken(content, special=True, normalized=False) for content in contents]


def train(pre_tokenizer, normalizer=None, all_bytes=True, **model_options):
    """A small tokenizer and its trainer's vocabulary, from the natural part of the strings."""
    tokenizer = Tokenizer(models.BPE(**model_options))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if all_bytes else []
    trainer = trainers.BpeTrainer(
        vocab_size=SMALL_VOCAB_SIZE, min_frequency=1, initial_alphabet=alphabet, show_progress=False
    )
    texts = [
        s for group in tokenizer_corpus.SENTENCES.values() for s in group
    ] * 2 + tokenizer_corpus.CODE
    if not all_bytes:
        texts = [t for t in texts if t.isascii()]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def with_unreachable_tokens(tokenizer, words):
    """Adds tokens that no merge makes: only ignore_merges may use them."""
    spec = json.loads(tokenizer.to_str())
    vocab = spec["model"]["vocab"]
    for word in words:
        if word not in vocab:
            vocab[word] = len(vocab)
    return Tokenizer.from_str(json.dumps(spec))


def make_qwen2():
    tokenizer = with_unreachable_tokens(
        train(split(QWEN2), normalizers.NFC()), ["\u0120unreachable", "Dr", "word"]
    )
    tokenizer.add_tokens(
        special("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>")
    )
    tokenizer.add_tokens(
        [
            AddedToken(t, normalized=False)
            for t in ["<think>", "</think>", "<tool_call>", "</tool_call>"]
        ]
    )
    tokenizer.add_tokens(
        [
            AddedToken("Cafe\u0301Token", normalized=True),
            AddedToken("[WORD]", single_word=True, normalized=True),
        ]
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def make_llama3():
    tokenizer = train(split(LLAMA3), ignore_merges=True)
    tokenizer = with_unreachable_tokens(
        tokenizer, ["\u0120unreachable", "Dr", "word", "\u0120gr", "123", "00", "\u0120quick"]
    )
    tokenizer.add_tokens(
        special("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|long|>", "<|long|>er")
    )
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", bos)]
    )
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), template]
    )
    return tokenizer


def make_gpt2():
    tokenizer = train(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_tokens(special("<|endoftext|>"))
    tokenizer.add_tokens(
        [
            AddedToken("[STRIP]", lstrip=True, rstrip=True, normalized=False),
            AddedToken("[LEFT]", lstrip=True, normalized=False, special=True),
            AddedToken("[RIGHT]", rstrip=True, normalized=True),
            AddedToken("[WORD]", single_word=True, normalized=False),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>",
        special_tokens=[("<|endoftext|>", tokenizer.token_to_id("<|endoftext|>"))],
    )
    return tokenizer


def make_gpt2_unk():
    """Not every byte is a token; a space goes before the first word."""
    tokenizer = train(pre_tokenizers.ByteLevel(add_prefix_space=True), all_bytes=False)
    spec = json.loads(tokenizer.to_str())
    spec["model"]["vocab"]["<unk>"] = len(spec["model"]["vocab"])
    spec["model"] |= {"unk_token": "<unk>", "fuse_unk": True}
    return Tokenizer.from_str(json.dumps(spec))


def make_smollm():
    """Not every byte is a token, and there is none for unknown ones, as in SmolLM2."""
    parts = [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
    tokenizer = train(pre_tokenizers.Sequence(parts), all_bytes=False)
    tokenizer.add_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>"))
    return tokenizer


def load_smollm2():
    reader = GGUFReader(TEST_MODELS / "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    tokens, types, merges = (
        reader.fields[f"tokenizer.ggml.{k}"].contents() for k in ["tokens", "token_type", "merges"]
    )
    model = models.BPE(
        vocab={t: i for i, t in enumerate(tokens)}, merges=[tuple(m.split(" ")) for m in merges]
    )
    tokenizer = Tokenizer(model)
    parts = [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    tokenizer.add_tokens(special(*(t for t, kind in zip(tokens, types, strict=True) if kind == 3)))
    return tokenizer


def hash_ids(ids):
    """FNV-1a over 32-bit words."""
    value = 0xCBF29CE484222325
    for token in ids:
        value = ((value ^ token) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def documents(text):
    """Cuts behind a line's end; sizes from 4 KB to 64 KB in turn."""
    found, begin, size = [], 0, 4096
    while begin < len(text):
        end = text.find(b"\n", begin + size)
        end = len(text) if end < 0 else end + 1
        found.append(text[begin:end])
        begin, size = end, 4096 if size == 65536 else size * 2
    return found


def code_point_texts():
    """Every code point beside a letter, a digit, a space, an apostrophe and an added token."""
    for begin in range(0, 0x110000, 1024):
        points = [chr(c) for c in range(begin, begin + 1024) if not 0xD800 <= c < 0xE000]
        yield "".join(f"a{c}b {c} 1{c}'{c}s[WORD]{c}\n" for c in points)


def write_hashes(path, first, second):
    with path.open("wb") as file:
        file.write(b"WTH1")
        for hashes in (first, second):
            file.write(struct.pack(f"<I{len(hashes)}Q", len(hashes), *hashes))


def encode(tokenizer, data, **options):
    return tokenizer.encode(data.decode("utf-8", errors="replace"), **options).ids


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", type=int, help="print the ids of one string")
    arguments = parser.parse_args()
    OUTPUT.mkdir(parents=True, exist_ok=True)
    small = {
        "qwen2": make_qwen2(),
        "llama3": make_llama3(),
        "gpt2": make_gpt2(),
        "gpt2_unk": make_gpt2_unk(),
        "smollm": make_smollm(),
    }
    for name, tokenizer in small.items():
        (OUTPUT / f"{name}.json").write_text(tokenizer.to_str(), encoding="utf-8")
    tokenizers = small | {
        "qwen3": Tokenizer.from_file(str(TEST_MODELS / "qwen3/tokenizer.json")),
        "smollm2": load_smollm2(),
    }
    entries = tokenizer_corpus.entries()
    strings = [unit * count for unit, count in entries]
    if arguments.show is not None:
        print(strings[arguments.show][:1000])
        for name, tokenizer in tokenizers.items():
            print(name, encode(tokenizer, strings[arguments.show], add_special_tokens=False)[:1000])
        return
    with (OUTPUT / "strings.bin").open("wb") as file:
        file.write(b"WTC1" + struct.pack("<I", len(entries)))
        for unit, count in entries:
            file.write(struct.pack("<II", count, len(unit)) + unit)
    text = documents((TEST_MODELS / "text/django.txt").read_bytes())
    for name, tokenizer in tokenizers.items():
        plain = [hash_ids(encode(tokenizer, s, add_special_tokens=False)) for s in strings]
        text_hashes = [hash_ids(encode(tokenizer, d, add_special_tokens=False)) for d in text]
        tokenizer.encode_special_tokens = True
        as_text = [
            hash_ids(encode(tokenizer, s, add_special_tokens=True)) for s in strings if b"<" in s
        ]
        write_hashes(OUTPUT / f"{name}.hashes", plain, as_text)
        write_hashes(OUTPUT / f"{name}.text.hashes", text_hashes, [])
        print(name, len(plain), len(as_text), len(text_hashes))
    for name in POINTS_TOKENIZERS:
        tokenizer = small[name]
        tokenizer.encode_special_tokens = False
        hashes = [
            hash_ids(tokenizer.encode(t, add_special_tokens=False).ids) for t in code_point_texts()
        ]
        write_hashes(OUTPUT / f"{name}.points.hashes", hashes, [])
    facts = {
        "tokenizers": importlib.metadata.version("tokenizers"),
        "gguf": importlib.metadata.version("gguf"),
        "seed": tokenizer_corpus.SEED,
        "strings": len(strings),
        "documents": len(text),
        "text_bytes": sum(map(len, text)),
    }
    (OUTPUT / "golden.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
