#!/usr/bin/env python3
"""Times llama.cpp's prefill and decode on one GGUF file, through llama-cpp-python's C bindings.

Prints one JSON object, as `whinchat bench --json` does: the same tokens, the same counts, logits of
the last token only.
"""

import argparse
import ctypes
import json
import time

import llama_cpp


def quiet_log(_level, _text, _user):
    pass


LOG_CALLBACK = llama_cpp.llama_log_callback(quiet_log)


class Peer:
    """A loaded model and context."""

    def __init__(self, arguments: argparse.Namespace, num_tokens: int):
        llama_cpp.llama_log_set(LOG_CALLBACK, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        model_params = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(arguments.model.encode(), model_params)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = (num_tokens + 255) // 256 * 256
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = arguments.threads
        params.flash_attn_type = 1 if arguments.flash_attention else 0
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.num_vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.next_token = 1

    def clear(self) -> None:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def feed(self, num_tokens: int) -> None:
        while num_tokens > 0:
            count = min(512, num_tokens)
            tokens = (llama_cpp.llama_token * count)()
            for i in range(count):
                self.next_token = (self.next_token * 1103 + 12345) % self.num_vocab
                tokens[i] = self.next_token
            batch = llama_cpp.llama_batch_get_one(tokens, count)
            if llama_cpp.llama_decode(self.context, batch) != 0:
                raise SystemExit("llama_decode failed")
            num_tokens -= count
        llama_cpp.llama_get_logits_ith(self.context, -1)


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--flash-attention", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    peer = Peer(arguments, max(arguments.prefill, arguments.depth + arguments.decode) + 64)
    peer.feed(32)
    prefill, decode = [], []
    for _ in range(arguments.repetitions):
        peer.clear()
        start = time.perf_counter()
        peer.feed(arguments.prefill)
        prefill.append(arguments.prefill / (time.perf_counter() - start))
        peer.clear()
        if arguments.depth:
            peer.feed(arguments.depth)
        start = time.perf_counter()
        for _ in range(arguments.decode):
            peer.feed(1)
        decode.append(arguments.decode / (time.perf_counter() - start))
    result = {
        "peer": f"llama-cpp-python {llama_cpp.__version__}",
        "system": llama_cpp.llama_print_system_info().decode(),
        "threads": arguments.threads,
        "flash_attention": arguments.flash_attention,
        "prefill_tokens_per_second": median(prefill),
        "decode_tokens_per_second": median(decode),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
