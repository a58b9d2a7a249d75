# SPDX-License-Identifier: Apache-2.0
"""The program on a command line and on a terminal, as its users meet it."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

import pytest

QUESTION = "What is the capital of France?"


def run(program, *arguments, text=None):
    return subprocess.run(
        [program, *arguments],
        input=text,
        stdin=None if text is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


class Terminal:
    """The program behind a pseudo terminal."""

    def __init__(self, program, *arguments):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "dumb"
            os.execv(program, [program, *arguments])
        self.output = ""

    def expect(self, pattern, seconds=60.0):
        """Reads until `pattern` appears after what was expected before; gives the match."""
        deadline = time.monotonic() + seconds
        while not (match := re.search(pattern, self.output)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.output!r}"
            if select.select([self.file], [], [], 0.1)[0]:
                self.output += os.read(self.file, 65536).decode(errors="replace")
        self.output = self.output[match.end() :]
        return match

    def type(self, line):
        os.write(self.file, line.encode() + b"\n")

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(program, model):
    opened = Terminal(program, "run", "--model", model, "--temperature", "0")
    opened.expect("> ")
    yield opened
    os.close(opened.file)


def test_one_answer_with_its_figures(program, model):
    result = run(program, "run", "--model", model, QUESTION)
    assert result.returncode == 0, result.stderr
    assert "Paris" in result.stdout
    figures = r"prompt \d+ tokens.*first token \d+ ms, \d+ tokens.*peak memory \d+ MiB"
    assert re.search(figures, result.stderr)


def test_the_same_prompt_gives_the_same_answer_and_a_seed_may_change_it(program, model):
    arguments = ("run", "--model", model, "--max-tokens", "24", "--temperature", "1.5")
    answers = [run(program, *arguments, "Tell me a story.").stdout for _ in range(2)]
    assert answers[0] == answers[1]
    seeds = [run(program, *arguments, "--seed", str(i), "Tell me a story.").stdout for i in (1, 2)]
    assert len({answers[0], *seeds}) == 3


def test_a_prompt_may_be_piped_in(program, model):
    result = run(program, "run", "--model", model, text=QUESTION)
    assert "Paris" in result.stdout
    empty = run(program, "run", "--model", model, text="")
    assert empty.returncode == 1
    assert "no prompt" in empty.stderr


def test_a_model_that_is_missing_or_broken_gets_one_sentence(program, model, tmp_path):
    missing = run(program, "run", "--model", "no-such-model", "hi")
    assert missing.returncode == 1
    assert missing.stderr.count("\n") == 1
    assert "no-such-model" in missing.stderr
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(pathlib.Path(model).read_bytes()[:5_000_000])
    broken = run(program, "run", "--model", str(cut), "hi")
    assert broken.returncode == 1
    assert broken.stderr.count("\n") == 1
    assert "cut.gguf" in broken.stderr


def test_bad_flags_are_named(program):
    result = run(program, "run", "--temperature", "9", "hi")
    assert result.returncode == 2
    assert "--temperature" in result.stderr


def test_which_and_isas(program, model):
    assert run(program, "which", model).stdout.strip() == str(model)
    isas = run(program, "isas").stdout.split()
    assert isas[0] == "scalar"
    refused = subprocess.run(
        [program, "run", "--model", model, "hi"],
        env={**os.environ, "WHINCHAT_ISA": "z80"},
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 1
    assert "z80" in refused.stderr


def test_a_chat_with_commands(terminal, tmp_path):
    terminal.type("/help")
    terminal.expect("/system TEXT")
    terminal.type(QUESTION)
    terminal.expect("Paris")
    terminal.expect(r"tokens/s")
    terminal.type("/stats")
    terminal.expect(r"prompt \d+ tokens")
    terminal.type(f"/save {tmp_path}/chat.json")
    terminal.expect("Kept 2 messages")
    terminal.type("/clear")
    terminal.expect("forgotten")
    terminal.type(f"/load {tmp_path}/chat.json")
    terminal.expect("Took up 2 messages")
    terminal.type("/load /no/such/file")
    terminal.expect("can't open")
    terminal.type("/quit")
    assert terminal.wait() == 0


def test_an_interrupt_stops_the_answer_and_not_the_program(terminal):
    terminal.type("Write a very long story about a bird.")
    time.sleep(0.5)
    terminal.interrupt()
    terminal.expect("stopped")
    terminal.type(QUESTION)
    terminal.expect("tokens/s")
    terminal.interrupt()
    time.sleep(0.2)
    terminal.type("/quit")
    assert terminal.wait() == 0
