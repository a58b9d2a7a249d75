# SPDX-License-Identifier: Apache-2.0
"""LangChain's ChatOpenAI, printing the answer while it comes."""

from client_settings import base_url, check_answer
from langchain_core.callbacks import StreamingStdOutCallbackHandler
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    model="Qwen-0.6B",
    temperature=0.5,
    base_url=base_url(),
    api_key="EMPTY",
    extra_body={"enable_thinking": False},
    streaming=True,
    callbacks=[StreamingStdOutCallbackHandler()],
)
answer = llm.invoke("Write a short poem about spring.")
print()
check_answer(answer.content)
