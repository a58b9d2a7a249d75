# SPDX-License-Identifier: Apache-2.0
"""Starts the built program on a small model. WHINCHAT_PROGRAM and WHINCHAT_TEST_MODEL override
which; without the latter it is SmolLM2-135M-Instruct, the embedded default."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
STARTUP_SECONDS = 120
# The first is the name in answers; the others are what the example programs ask for.
SERVED_NAMES = ["smol", "Qwen-0.6B", "gpt-3.5-turbo"]


class Reply:
    """An HTTP answer that was read to its end."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def events(self):
        """The server-sent events; the stream must end with [DONE]."""
        blocks = self.body.decode().split("\n\n")
        assert blocks[-2:] == ["data: [DONE]", ""], blocks[-3:]
        assert all(block.startswith("data: ") for block in blocks[:-1])
        return [json.loads(block[len("data: ") :]) for block in blocks[:-2]]


class Server:
    """The running program."""

    def __init__(self, program, model, *flags, port=0, **popen_options):
        names = [flag for name in SERVED_NAMES for flag in ("--served-model-name", name)]
        self.process = subprocess.Popen(
            [program, "serve", "--model", model, "--port", str(port), *names, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **popen_options,
        )
        self.output = []
        self._has_url = threading.Event()
        self.port = None
        threading.Thread(target=self._read_output, daemon=True).start()
        assert self._has_url.wait(STARTUP_SECONDS), "".join(self.output)
        assert self.port is not None, "".join(self.output)

    def _read_output(self):
        for line in self.process.stdout:
            self.output.append(line)
            if self.port is None and (match := re.search(r"http://[^\s/:]+:(\d+)", line)):
                self.port = int(match[1])
                self._has_url.set()
        self._has_url.set()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def wait_until_ready(self):
        deadline = time.monotonic() + STARTUP_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "".join(self.output)
            if self.request("GET", "/health").status == 200:
                return self
            time.sleep(0.05)
        raise AssertionError("not ready in time:\n" + "".join(self.output))

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            text = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
            connection.request(method, path, text, headers or {})
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def chat(self, content="Say hello.", **fields):
        messages = fields.pop("messages", [{"role": "user", "content": content}])
        return self.request("POST", "/v1/chat/completions", {"messages": messages, **fields})

    def complete(self, prompt, **fields):
        return self.request("POST", "/v1/completions", {"prompt": prompt, **fields})

    def metric(self, name):
        """The sum of a metric's samples."""
        text = self.request("GET", "/metrics").body.decode()
        samples = re.findall(rf"^{re.escape(name)}\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
        assert samples, f"no metric {name}"
        return sum(map(float, samples))

    def wait_for_metric(self, name, holds, seconds=10.0):
        deadline = time.monotonic() + seconds
        while not holds(value := self.metric(name)):
            assert time.monotonic() < deadline, f"{name} stayed at {value}"
            time.sleep(0.01)

    def open_stream(self, **fields):
        """A socket on which a long stream has begun to arrive."""
        fields = {"max_tokens": 2000, "ignore_eos": True, "stream": True, **fields}
        sock = self.send_chat(**fields)
        received = b""
        while b'"content":"' not in received.replace(b'"content":""', b""):
            piece = sock.recv(65536)
            assert piece, received
            received += piece
        return sock

    def send_chat(self, **fields):
        messages = [{"role": "user", "content": fields.pop("content", "Tell a long story.")}]
        body = json.dumps({"messages": messages, **fields}).encode()
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        sock.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        return sock

    def terminate(self, timeout=60):
        """Sends SIGTERM; gives the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="session")
def program():
    path = pathlib.Path(os.environ.get("WHINCHAT_PROGRAM", ROOT / "build/release/whinchat"))
    assert path.exists(), f"{path} is missing: build it first"
    return str(path)


@pytest.fixture(scope="session")
def model():
    if path := os.environ.get("WHINCHAT_TEST_MODEL"):
        return path
    maker = [sys.executable, str(ROOT / "tools/get_default_model.py")]
    return subprocess.run(maker, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="session")
def server(program, model):
    """One server for all tests that leave it as they found it."""
    running = Server(program, model).wait_until_ready()
    yield running
    status = running.terminate()
    assert status == 0, "".join(running.output)


@pytest.fixture
def start_server(program, model):
    """Starts servers with flags of their own, for tests that end or strain them."""
    started = []

    def start(*flags, model=model, **options):
        started.append(Server(program, model, *flags, **options))
        return started[-1].wait_until_ready()

    yield start
    for running in started:
        running.kill()
