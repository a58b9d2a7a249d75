# SPDX-License-Identifier: Apache-2.0
"""The example programs of python/clients, run as a user would, with only base_url changed."""

import os
import pathlib
import subprocess
import sys

import pytest

CLIENTS = pathlib.Path(__file__).resolve().parents[2] / "python/clients"
PROGRAMS = sorted(path.name for path in CLIENTS.glob("*.py") if path.name != "client_settings.py")
# A template like that of a thinking model: the prompt itself opens the thought.
THINKING_TEMPLATE = """
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n<think>\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}
{{- '\n</think>\n\n' }}
{%- endif %}
{%- endif %}
"""


def run_client(name, base_url):
    # The clients count tokens with tiktoken, which would fetch its tables from the network.
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": "", "OPENAI_API_KEY": "EMPTY"}
    return subprocess.run(
        [sys.executable, str(CLIENTS / name), base_url],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )


def test_there_are_clients():
    assert len(PROGRAMS) >= 5


@pytest.mark.parametrize("name", PROGRAMS)
def test_client_gets_an_answer(server, name):
    result = run_client(name, server.base_url)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip()


@pytest.fixture(scope="module")
def thinking_server(program, model, tmp_path_factory):
    from conftest import Server

    path = tmp_path_factory.mktemp("template") / "thinking.jinja"
    path.write_text(THINKING_TEMPLATE)
    running = Server(program, model, "--chat-template", str(path)).wait_until_ready()
    yield running
    running.kill()


def test_client_gets_an_answer_without_thinking_from_a_thinking_template(thinking_server):
    result = run_client("langchain_stream.py", thinking_server.base_url)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_thought_opened_by_the_template_is_reasoning(thinking_server):
    # This model never closes a thought, so all of it is one; nothing may be lost or leak.
    body = thinking_server.chat(enable_thinking=True, max_tokens=24, temperature=0).json()
    message = body["choices"][0]["message"]
    assert message["reasoning_content"]
    assert message["reasoning"] == message["reasoning_content"]
    assert "<think>" not in message["reasoning_content"] + message["content"]
    assert message["content"] is not None
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
    inline = thinking_server.chat(
        enable_thinking=True, max_tokens=24, temperature=0, separate_reasoning=False
    ).json()["choices"][0]["message"]
    assert "reasoning_content" not in inline
    assert message["reasoning_content"] in inline["content"]


def test_a_hidden_thought_stays_hidden(thinking_server):
    for field in ("include_reasoning", "return_reasoning"):
        events = thinking_server.chat(
            enable_thinking=True, max_tokens=16, stream=True, **{field: False}
        ).events()
        deltas = [event["choices"][0]["delta"] for event in events]
        assert not any("reasoning" in delta or "reasoning_content" in delta for delta in deltas)


def test_a_prefilled_empty_thought_gives_content(thinking_server):
    message = thinking_server.chat(enable_thinking=False, max_tokens=24, temperature=0).json()[
        "choices"
    ][0]["message"]
    assert message["content"]
    assert "reasoning_content" not in message
