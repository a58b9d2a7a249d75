# SPDX-License-Identifier: Apache-2.0
"""OpenAI's own client: models, chat, streaming, completions, log probabilities, errors."""

import sys

import openai
from client_settings import base_url, check_answer

MODEL = "Qwen-0.6B"
MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]

client = openai.OpenAI(base_url=base_url(), api_key="EMPTY", max_retries=0)

print("models:", [model.id for model in client.models.list()])
print("model:", client.models.retrieve(MODEL).id)

chat = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=32, temperature=0)
print("chat:", chat.choices[0].message.content, chat.usage)
check_answer(chat.choices[0].message.content)

streamed = ""
usage = None
with client.chat.completions.create(
    model=MODEL,
    messages=MESSAGES,
    max_tokens=32,
    temperature=0,
    stream=True,
    stream_options={"include_usage": True},
) as stream:
    for chunk in stream:
        if chunk.choices:
            streamed += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
print("stream:", streamed, usage)
if streamed != chat.choices[0].message.content:
    sys.exit("the streamed answer differs from the whole one")
if usage is None or usage.completion_tokens != chat.usage.completion_tokens:
    sys.exit("the stream's usage differs from that of the whole answer")

completion = client.completions.create(
    model=MODEL, prompt="The capital of France is", max_tokens=8, temperature=0, logprobs=2
)
print("completion:", completion.choices[0].text)
check_answer(completion.choices[0].text)
logprobs = completion.choices[0].logprobs
if "".join(logprobs.tokens) != completion.choices[0].text:
    sys.exit(f"the tokens {logprobs.tokens} are not the text")

scored = client.chat.completions.create(
    model=MODEL, messages=MESSAGES, max_tokens=4, temperature=0, logprobs=True, top_logprobs=3
)
for token in scored.choices[0].logprobs.content:
    best = max(token.top_logprobs, key=lambda top: top.logprob)
    print("logprob:", repr(token.token), round(token.logprob, 3))
    if best.token != token.token:
        sys.exit(f"greedy took {token.token!r} though {best.token!r} is likelier")

for arguments, expected in [
    ({"model": "no-such-model"}, openai.NotFoundError),
    ({"temperature": 9}, openai.BadRequestError),
    ({"messages": []}, openai.BadRequestError),
]:
    try:
        client.chat.completions.create(**{"model": MODEL, "messages": MESSAGES, **arguments})
        sys.exit(f"{arguments} was accepted")
    except expected as error:
        print("error:", error.status_code, error.code, error.param)
