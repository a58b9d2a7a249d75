# SPDX-License-Identifier: Apache-2.0
"""LlamaIndex's OpenAI class. It raises on names it does not know before any request is made, so the
server must answer to one it knows:  whinchat serve --served-model-name gpt-3.5-turbo
The one-line change for any other name is to take OpenAILike (llama_index_openai_like.py)."""

from client_settings import base_url, check_answer
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI

llm = OpenAI(model="gpt-3.5-turbo", api_base=base_url(), api_key="EMPTY", max_tokens=64)
answer = llm.chat([ChatMessage(role="user", content="What is the capital of France?")])
print(answer.message.content)
check_answer(answer.message.content)
