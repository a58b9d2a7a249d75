# SPDX-License-Identifier: Apache-2.0
"""LangChain's ChatOpenAI with the thinking switch, as the mission's article has it."""

from client_settings import base_url, check_answer
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    model="Qwen-0.6B",
    temperature=0.5,
    base_url=base_url(),
    api_key="EMPTY",
    extra_body={"enable_thinking": True, "return_reasoning": True},
    streaming=True,
)
answer = llm.invoke("你是谁？")
print(answer.content)
check_answer(answer.content)
