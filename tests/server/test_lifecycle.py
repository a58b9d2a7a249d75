# SPDX-License-Identifier: Apache-2.0
"""Clients that leave, that read slowly or never finish asking; keys; starting and stopping."""

import concurrent.futures
import json
import signal
import socket
import time

RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"
LONG_PROMPT = "The quick brown fox jumps over the lazy dog. " * 400


def test_a_stream_whose_client_left_is_cancelled(server):
    sock = server.open_stream()
    assert server.metric(RUNNING) == 1
    sock.close()
    server.wait_for_metric(RUNNING, lambda value: value == 0, seconds=2)


def test_a_waiting_client_that_left_is_cancelled(server):
    sock = server.send_chat(max_tokens=2000, ignore_eos=True)
    server.wait_for_metric(RUNNING, lambda value: value == 1)
    sock.close()
    server.wait_for_metric(RUNNING, lambda value: value == 0, seconds=2)


def test_a_client_that_left_during_prefill_is_cancelled(server):
    before = server.metric("vllm:generation_tokens_total")
    sock = server.send_chat(content=LONG_PROMPT + str(time.time()), max_tokens=2000)
    server.wait_for_metric(RUNNING, lambda value: value == 1)
    sock.close()
    server.wait_for_metric(RUNNING, lambda value: value == 0, seconds=5)
    # At most a token or two: the answer was not written to its end for nobody.
    assert server.metric("vllm:generation_tokens_total") - before < 50


def test_queued_clients_that_leave_disturb_no_other(server):
    streaming = server.open_stream(max_tokens=300)
    queued = [server.send_chat(max_tokens=2000, ignore_eos=True) for _ in range(12)]
    server.wait_for_metric(RUNNING, lambda value: value > 1)
    for sock in queued:
        sock.close()
    received = b""
    while b"[DONE]" not in received:
        piece = streaming.recv(65536)
        assert piece, "the stream broke off"
        received += piece
    streaming.close()
    server.wait_for_metric(RUNNING, lambda value: value == 0)
    server.wait_for_metric(WAITING, lambda value: value == 0)


def test_half_open_connections_cost_nobody_else(server):
    half_open = []
    for text in (b"", b"GET /hea", b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n") * 30:
        sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        sock.sendall(text)
        half_open.append(sock)
    started = time.monotonic()
    assert server.request("GET", "/health").status == 200
    assert time.monotonic() - started < 1
    assert server.chat(max_tokens=2).status == 200
    for sock in half_open:
        sock.close()


def test_a_slow_reader_delays_no_other(server):
    slow = server.open_stream(logprobs=True, top_logprobs=20, max_tokens=1500)
    started = time.monotonic()
    assert server.chat(max_tokens=8, ignore_eos=True).status == 200
    assert time.monotonic() - started < 20
    slow.close()
    server.wait_for_metric(RUNNING, lambda value: value == 0)


def test_random_disconnects_leave_nothing_behind(server):
    def visit(i):
        sock = server.send_chat(content=f"{i} " * (i % 40), max_tokens=30, stream=i % 2 == 0)
        time.sleep((i % 7) * 0.01)
        if i % 3 == 0:
            sock.recv(1000)
        sock.close()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(80)))
    server.wait_for_metric(RUNNING, lambda value: value == 0)
    server.wait_for_metric(WAITING, lambda value: value == 0)
    assert server.chat(max_tokens=2).status == 200


def test_a_full_queue_is_429_with_retry_after(start_server):
    server = start_server("--max-num-seqs", "1")
    fields = {"max_tokens": 2000, "ignore_eos": True}
    sockets = [server.send_chat(**fields) for _ in range(100)]
    deadline = time.monotonic() + 30
    while server.metric(WAITING) < 64:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    reply = server.chat(max_tokens=1)
    assert reply.status == 429
    assert reply.json()["error"]["type"] == "rate_limit_error"
    assert int(reply.headers["retry-after"]) >= 1
    for sock in sockets:
        sock.close()


def test_keys_guard_all_but_health(start_server):
    server = start_server("--api-key", "one", "--api-key", "two")
    assert server.request("GET", "/health").status == 200
    reply = server.request("GET", "/v1/models")
    assert reply.status == 401
    assert reply.json()["error"]["code"] == "invalid_api_key"
    for key in ("one", "two"):
        headers = {"Authorization": f"Bearer {key}"}
        assert server.request("GET", "/v1/models", headers=headers).status == 200
    assert server.request("GET", "/v1/models", headers={"Authorization": "Bearer x"}).status == 401


def test_sigterm_lets_running_answers_finish(start_server):
    server = start_server()
    sock = server.open_stream(max_tokens=150)
    server.process.send_signal(signal.SIGTERM)
    received = b""
    while piece := sock.recv(65536):
        received += piece
    assert b"data: [DONE]" in received
    assert server.process.wait(30) == 0


def test_an_idle_server_ends_at_once(start_server):
    server = start_server()
    started = time.monotonic()
    assert server.terminate() == 0
    assert time.monotonic() - started < 3


def test_a_second_signal_ends_the_program_at_once(start_server):
    server = start_server()
    stream = server.open_stream(max_tokens=8000)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert server.process.poll() is None
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(5) == 128 + signal.SIGTERM
    stream.close()


def test_a_body_beyond_the_limit_is_413(server):
    body = json.dumps({"prompt": "x" * (9 << 20)})
    reply = server.request("POST", "/v1/completions", body)
    assert reply.status == 413
