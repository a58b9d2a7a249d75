# SPDX-License-Identifier: Apache-2.0
"""LlamaIndex's OpenAILike: as a chat model, and with its defaults, which use /v1/completions."""

from client_settings import base_url, check_answer
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

chat_model = OpenAILike(
    model="Qwen-0.6B", api_base=base_url(), api_key="EMPTY", is_chat_model=True, max_tokens=64
)
answer = chat_model.chat([ChatMessage(role="user", content="What is the capital of France?")])
print(answer.message.content)
check_answer(answer.message.content)

streamed = ""
for piece in chat_model.stream_chat([ChatMessage(role="user", content="Say hello.")]):
    streamed += piece.delta or ""
print(streamed)
check_answer(streamed)

completion_model = OpenAILike(model="Qwen-0.6B", api_base=base_url(), api_key="EMPTY")
completion = completion_model.complete("The capital of France is", max_tokens=16)
print(completion.text)
check_answer(completion.text)
