#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/chat/: conversations and what transformers' apply_chat_template makes of them.

  conversations.json   our conversations, and the option sets each is rendered with
  templates.json       per published template: its SHA-256 (the text itself is not ours to keep),
                       its branch coverage, and per conversation and option set the 64-bit FNV-1a
                       hash of the prompt, or "E" for an error, or "R<n>" for its n-th refusal
  templates/*.jinja    templates of our own, which use every feature that the published ones do
  own_templates.json   the full prompts of those

Usage: make_chat_golden.py FOLDER, where tools/fetch_test_models.py has put chat_templates/.
"""

import datetime as datetime_module
import hashlib
import importlib.metadata
import json
import os
import pathlib
import sys
import time

import chat_conversations
import jinja2
import tokenizers
import transformers
from jinja_coverage import Coverage
from transformers.utils import chat_template_utils

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/chat"
NOW_UNIX_SECONDS = 1_780_000_000  # what strftime_now tells

QWEN = (None, "<|im_end|>")
LLAMA = ("<|begin_of_text|>", "<|eot_id|>")
GEMMA = ("<bos>", "<eos>")
MISTRAL = ("<s>", "</s>")
DEEPSEEK = ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")
# File name (without .jinja): its special tokens.
PUBLISHED = {
    "Qwen-Qwen3-0.6B": QWEN,
    "Qwen-Qwen3-0.6B@a55ee1": QWEN,
    "Qwen-Qwen3-4B-Instruct-2507": QWEN,
    "Qwen-Qwen3-4B-Thinking-2507": QWEN,
    "Qwen-Qwen2.5-7B-Instruct": QWEN,
    "HuggingFaceTB-SmolLM2-135M-Instruct": ("<|im_start|>", "<|im_end|>"),
    "HuggingFaceTB-SmolLM3-3B": (None, "<|im_end|>"),
    "meta-llama-Llama-3.1-8B-Instruct": LLAMA,
    "meta-llama-Llama-3.2-3B-Instruct": LLAMA,
    "google-gemma-2-2b-it": GEMMA,
    "unsloth-gemma-3-270m-it": GEMMA,
    "mistralai-Mistral-7B-Instruct-v0.3": MISTRAL,
    "mistralai-Mistral-Nemo-Instruct-2407": MISTRAL,
    "mistralai-Mistral-Small-3.1-24B-Instruct-2503": MISTRAL,
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": DEEPSEEK,
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": DEEPSEEK,
}
# Branches that no conversation can reach: (line, what) by template, and why.
ALWAYS_DEFINED = "transformers always passes this variable"
ALL_CASES = "the branches before it cover every case"
UNREACHABLE = {
    "meta-llama-Llama-3.1-8B-Instruct": {(11, "if"): ALWAYS_DEFINED, (67, "else"): ALL_CASES},
    "meta-llama-Llama-3.2-3B-Instruct": {
        (9, "else"): ALWAYS_DEFINED,
        (15, "if"): ALWAYS_DEFINED,
        (68, "else"): ALL_CASES,
    },
    "unsloth-gemma-3-270m-it": {(29, "else"): "an undefined value counts as iterable before it"},
    "mistralai-Mistral-7B-Instruct-v0.3": {(7, "if"): ALWAYS_DEFINED},
    "mistralai-Mistral-Nemo-Instruct-2407": {(7, "if"): ALWAYS_DEFINED},
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": {(1, "if"): ALWAYS_DEFINED},
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": {
        (1, "if"): ALWAYS_DEFINED,
        (14, "if"): "transformers drops content that is null",
        (16, "for"): "inside that",
        (17, "if"): "inside that",
        (17, "else"): "inside that",
    },
}


class FixedClock(datetime_module.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW_UNIX_SECONDS, tz)


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


class Renderer:
    """apply_chat_template of one template, with its branches counted."""

    def __init__(self, source, tokens):
        bos_token, eos_token = tokens
        self.source = source
        self.tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()),
            bos_token=bos_token,
            eos_token=eos_token,
        )
        environment = chat_template_utils._compile_jinja_template(source).environment
        self.coverage = Coverage(environment, source)

    def render(self, conversation, options):
        """The prompt, or an Exception."""
        original = chat_template_utils._compile_jinja_template
        chat_template_utils._compile_jinja_template = lambda _: self.coverage.template
        options = dict(options)
        try:
            return self.tokenizer.apply_chat_template(
                conversation["messages"],
                tools=conversation["tools"] or None,
                chat_template=self.source,
                tokenize=False,
                **options,
                **conversation["kwargs"],
            )
        except Exception as error:  # a wrong template can raise anything
            return error
        finally:
            chat_template_utils._compile_jinja_template = original


def cases(conversations):
    for conversation in conversations:
        for options in conversation["options"]:
            yield conversation, options


def make_published(folder, conversations):
    published = {}
    for name, tokens in PUBLISHED.items():
        source = (folder / f"{name}.jinja").read_text()
        renderer = Renderer(source, tokens)
        refusals = []
        results = []
        for conversation, options in cases(conversations):
            result = renderer.render(conversation, options)
            if isinstance(result, str):
                results.append(fnv1a(result))
            elif type(result) is jinja2.exceptions.TemplateError:
                if str(result) not in refusals:
                    refusals.append(str(result))
                results.append(f"R{refusals.index(str(result))}")
            else:
                results.append("E")
        unreachable = UNREACHABLE.get(name, {})
        missing = [branch for branch in renderer.coverage.missing() if branch not in unreachable]
        num_branches = len(renderer.coverage.branches) - len(unreachable)
        print_coverage(name, num_branches, renderer, missing, results)
        published[name] = {
            "sha256": hashlib.sha256(source.encode()).hexdigest(),
            "fnv1a": fnv1a(source),
            "bos_token": tokens[0] or "",
            "eos_token": tokens[1] or "",
            "num_branches": num_branches,
            "num_branches_covered": num_branches - len(missing),
            "branches_unreachable": [
                f"line {line}: {what}: {why}" for (line, what), why in unreachable.items()
            ],
            "refusals": refusals,
            "results": " ".join(results),
        }
    return published


def print_coverage(name, num_branches, renderer, missing, results):
    num_prompts = sum(len(result) == 16 for result in results)
    print(
        f"{name:50} {num_branches - len(missing):3}/{num_branches:3} branches, "
        f"{num_prompts:4} prompts, {len(results) - num_prompts:4} errors"
    )
    for line, what in missing:
        source_line = renderer.source.splitlines()[line - 1].strip()
        print(f"    not covered: line {line}: {what}: {source_line}")


def own_subset(conversation):
    """The conversation with fewer option sets, since here the prompts are kept whole."""
    options = [o for o in conversation["options"] if o != {"add_generation_prompt": False}]
    return conversation | {"options": [o for o in options if not o.get("enable_thinking")]}


def make_own(conversations):
    own = {}
    for path in sorted((GOLDEN / "templates").glob("*.jinja")):
        renderer = Renderer(path.read_text(), ("<s>", "</s>"))
        results = []
        for conversation, options in cases(conversations):
            result = renderer.render(conversation, options)
            results.append(result if isinstance(result, str) else None)
        print_coverage(
            path.name,
            len(renderer.coverage.branches),
            renderer,
            renderer.coverage.missing(),
            ["" if result is None else "x" * 16 for result in results],
        )
        own[path.name] = results
    return own


def write_json(name, value):
    text = json.dumps(value, ensure_ascii=False, indent=0, separators=(",", ":"))
    (GOLDEN / name).write_text(text + "\n")
    print(f"{name}: {len(text.encode())} bytes")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.environ["TZ"] = "UTC"
    time.tzset()
    chat_template_utils.datetime = FixedClock
    conversations = chat_conversations.make_conversations()
    for conversation in conversations:
        conversation["options"] = chat_conversations.make_options(conversation)
    own_conversations = [
        own_subset(c)
        for c in conversations
        if c["name"].endswith("/quotes") or "/" not in c["name"]
    ]
    made_with = {
        package: importlib.metadata.version(package) for package in ("transformers", "jinja2")
    }
    GOLDEN.mkdir(parents=True, exist_ok=True)
    write_json(
        "conversations.json", {"now_unix_seconds": NOW_UNIX_SECONDS, "conversations": conversations}
    )
    published = make_published(pathlib.Path(sys.argv[1]) / "chat_templates", conversations)
    write_json("templates.json", {"made_with": made_with, "templates": published})
    own = make_own(own_conversations)
    write_json(
        "own_templates.json",
        {"made_with": made_with, "conversations": own_conversations, "templates": own},
    )


if __name__ == "__main__":
    main()
