# SPDX-License-Identifier: Apache-2.0
"""The conversations of the chat goldens: structures (who speaks in which order, with tools,
thoughts, empty parts) times texts (languages, white space, look-alikes of special tokens).
"""

TEXTS = {
    "plain": (
        "You are a helpful assistant.",
        "What is the capital of France?",
        "Paris.",
        "And of Italy?",
    ),
    "chinese": (
        "你是一个有用的助手。",
        "你是谁？",
        "我是一个语言模型。\n很高兴见到你！",
        "请写一首关于春天的诗。",
    ),
    "mixed": (
        "Réponds en français — s'il te plaît…",
        "日本語と한국어 и русский עברית العربية हिन्दी",
        "👩‍👩‍👧‍👦 🇫🇷 é e\u0301 \u200b\u00a0|",
        "\ufeffBOM, \u2028line\u2029paragraph",
    ),
    "spaces": ("  \n You wait. \n\n", " \t What? \r\n", "\n\n Well... \n ", "\u3000Now?\u3000\x1f"),
    "quotes": (
        "Say \"yes\" or 'no'.",
        "a \\ b \"c\" 'd' `e` {{ f }} {% g %} {# h #}",
        '<b>&amp; "x" < y > z</b>',
        "path C:\\new\\table \\u0041",
    ),
    "look_alikes": (
        "<|im_start|>system<|im_end|>",
        "<|im_end|>\n<|im_start|>assistant\nHi [/INST] <|eot_id|> <end_of_turn>",
        "</s><｜end▁of▁sentence｜><|endoftext|>",
        "what does <think> mean? </think> <tool_call>",
    ),
    "empty": ("", "", "", ""),
    "long": ("Rules: " + "be brief; " * 40, "word " * 300, "answer " * 200, "again " * 50),
}

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": 'Weather of a city, e.g. "Paris" or 北京 <now>',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "the city's name"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": None},
                "days": {"type": "integer", "minimum": 1, "maximum": 14.5},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
CLOCK = {
    "type": "function",
    "function": {
        "name": "clock",
        "description": "The time.",
        "parameters": {"type": "object", "properties": {}},
        "return": {"type": "string"},
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Searches\nthe web.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": ["string", "null"]},
                "filters": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"site": {"type": "string"}}},
                },
            },
        },
    },
}


def system(text):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, call_id="abc123XYZ"):
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def tool(text, **more):
    return {"role": "tool", "content": text, "tool_call_id": "abc123XYZ", **more}


def plain_structures(s, u, a, v):
    """Without tools: (name, messages)."""
    thought = f"<think>\n{u}\nHm.\n</think>\n\n{a}"
    return [
        ("user", [user(u)]),
        ("system_user", [system(s), user(u)]),
        ("two_turns", [user(u), assistant(a), user(v)]),
        ("system_two_turns", [system(s), user(u), assistant(a), user(v)]),
        ("ends_with_answer", [user(u), assistant(a)]),
        ("system_ends_with_answer", [system(s), user(u), assistant(a), user(v), assistant(a)]),
        ("thought_field", [user(u), assistant(a, reasoning_content=u), user(v)]),
        ("thought_field_last", [user(u), assistant(a, reasoning_content=f"\n{u}\n\n{v}\n")]),
        ("thought_in_content", [user(u), assistant(thought), user(v)]),
        ("thought_in_content_last", [user(u), assistant(thought)]),
        ("thought_empty", [user(u), assistant(a, reasoning_content="")]),
        ("thought_named_thinking", [user(u), assistant(a, thinking=v)]),
        ("starts_with_answer", [assistant(a), user(u)]),
        ("two_users", [user(u), user(v)]),
        ("only_system", [system(s)]),
        ("system_in_the_middle", [user(u), system(s), user(v)]),
        ("null_content", [user(u), assistant(None), user(v)]),
        ("odd_role", [user(u), {"role": "narrator", "content": v}]),
    ]


def tool_structures(s, u, a, v):
    """With tools: (name, messages, tools)."""
    paris = call("get_weather", {"city": u, "days": 3, "exact": True, "x": None, "y": 1.5})
    as_text = call("get_weather", '{"city": "Paris", "days": 3}')
    clock = call("clock", {}, "def456UVW")
    return [
        ("tools_offered", [user(u)], [WEATHER]),
        ("tools_offered_system", [system(s), user(u)], [WEATHER, CLOCK, SEARCH]),
        ("tools_offered_two_turns", [user(u), assistant(a), user(v)], [CLOCK]),
        (
            "one_call",
            [user(u), assistant("", tool_calls=[paris]), tool(v)],
            [WEATHER],
        ),
        (
            "one_call_answered",
            [system(s), user(u), assistant("", tool_calls=[paris]), tool(v), assistant(a)],
            [WEATHER, CLOCK],
        ),
        (
            "one_call_null_content",
            [user(u), assistant(None, tool_calls=[as_text]), tool(v), assistant(a), user(v)],
            [WEATHER],
        ),
        (
            "call_after_text_and_thought",
            [user(u), assistant(a, reasoning_content=v, tool_calls=[paris]), tool(v)],
            [WEATHER],
        ),
        (
            "two_calls",
            [
                user(u),
                assistant(a, tool_calls=[paris, clock]),
                tool(v),
                tool("12:00", tool_call_id="def456UVW", name="clock"),
            ],
            [WEATHER, CLOCK],
        ),
        (
            "calls_in_steps",
            [
                user(u),
                assistant("", tool_calls=[clock]),
                tool("12:00"),
                assistant("", tool_calls=[as_text], reasoning_content="Next."),
                tool(v),
                assistant(a),
                user(v),
            ],
            [WEATHER, CLOCK],
        ),
        (
            "old_calls_without_tools",
            [user(u), assistant("", tool_calls=[as_text]), tool(v), assistant(a), user(v)],
            None,
        ),
    ]


BLOCKS = [{"type": "text", "text": " Look: "}, {"type": "image"}, {"type": "text", "text": "x"}]
ODD_BLOCKS = [{"type": "audio"}, {"type": "image_url"}, {"type": "text", "text": "y"}]
BRAVE_SEARCH = call("brave_search", {"query": "news", "lang": "en"})
PARIS_WEATHER = call("get_weather", {"city": "Paris"})
# For single branches of single templates: (name, messages, tools, kwargs).
SPECIAL = [
    ("blocks", [user(BLOCKS)], None, {}),
    ("blocks_odd", [user(ODD_BLOCKS)], None, {}),
    ("blocks_system", [system([{"type": "text", "text": "S"}]), user(BLOCKS)], None, {}),
    (
        "blocks_system_in_the_middle",
        [user("u"), system([{"type": "text", "text": "S"}])],
        None,
        {},
    ),
    ("blocks_answer", [user("u"), assistant([{"type": "text", "text": "t"}])], None, {}),
    ("content_number", [user(7)], None, {}),
    ("content_map", [user({"content": "inner"})], None, {}),
    ("no_content", [user("u"), {"role": "assistant"}, user("v")], None, {}),
    (
        "tool_result_map",
        [user("u"), assistant("", tool_calls=[PARIS_WEATHER]), tool({"content": {"t": 21}})],
        [WEATHER],
        {},
    ),
    (
        "tool_result_list",
        [user("u"), assistant("", tool_calls=[PARIS_WEATHER]), tool(["a", {"b": 1}])],
        [WEATHER],
        {},
    ),
    (
        "tool_result_number",
        [user("u"), assistant("", tool_calls=[PARIS_WEATHER]), tool(21)],
        [WEATHER],
        {},
    ),
    (
        "tool_results_role",
        [
            user("u"),
            assistant("", tool_calls=[PARIS_WEATHER]),
            {"role": "tool_results", "content": "c", "tool_call_id": "abc123XYZ"},
        ],
        [WEATHER],
        {},
    ),
    (
        "ipython_role",
        [user("u"), assistant("", tool_calls=[PARIS_WEATHER]), {"role": "ipython", "content": "c"}],
        [WEATHER],
        {},
    ),
    (
        "tool_without_id",
        [user("u"), assistant("", tool_calls=[PARIS_WEATHER]), {"role": "tool", "content": "c"}],
        [WEATHER],
        {},
    ),
    (
        "call_with_long_id",
        [user("u"), assistant("", tool_calls=[call("f", {}, "call_0123456789")])],
        [WEATHER],
        {},
    ),
    (
        "call_without_function",
        [
            user("u"),
            assistant("", tool_calls=[{"name": "f", "arguments": {"k": [1]}}]),
            tool("r"),
        ],
        [WEATHER],
        {},
    ),
    ("no_calls_in_list", [user("u"), assistant("a", tool_calls=[]), user("v")], [WEATHER], {}),
    ("empty_tools", [user("u")], [], {}),
    (
        "tool_response_by_user",
        [user("u"), user("<tool_response>\nr\n</tool_response>")],
        None,
        {},
    ),
    ("only_tool_response", [user("<tool_response>\nr\n</tool_response>")], None, {}),
    ("tool_first", [tool("r"), user("u")], None, {}),
    (
        "tools_in_system",
        [system("S"), user("u")],
        [WEATHER, CLOCK],
        {"tools_in_user_message": False},
    ),
    ("tools_but_no_user", [system("S")], [WEATHER], {}),
    ("custom_tools", [user("u")], None, {"custom_tools": [WEATHER]}),
    (
        "builtin_tools",
        [user("u"), assistant("", tool_calls=[BRAVE_SEARCH]), {"role": "ipython", "content": "c"}],
        None,
        {"builtin_tools": ["code_interpreter", "brave_search"]},
    ),
    (
        "builtin_tools_other",
        [user("u"), assistant("", tool_calls=[PARIS_WEATHER])],
        [WEATHER],
        {"builtin_tools": ["brave_search"]},
    ),
    ("date_string", [user("u")], None, {"date_string": "1 May 2026"}),
    ("system_no_think", [system("S /no_think"), user("u")], None, {}),
    ("system_think", [system("S /think"), user("u /no_think")], None, {}),
    ("system_override", [system("/system_override S"), user("u")], None, {}),
    ("xml_tools", [system("S"), user("u")], None, {"xml_tools": [WEATHER]}),
    ("python_tools", [system("S"), user("u")], None, {"python_tools": [WEATHER]}),
    ("both_tools", [user("u")], None, {"xml_tools": [WEATHER], "python_tools": [CLOCK]}),
    ("developer", [{"role": "developer", "content": "D"}, user("u")], None, {}),
    ("named", [{"role": "user", "content": "u", "name": "Ann"}], None, {}),
    (
        "unicode_arguments",
        [
            user("u"),
            assistant(
                "",
                tool_calls=[
                    call(
                        "f",
                        {
                            "城市": "北京 <&>",
                            "e": 'é\u0001\n"\\',
                            "n": [1e20, -0.5, 12345678901234567890, 1.0],
                        },
                    )
                ],
            ),
            tool("r"),
        ],
        [WEATHER],
        {},
    ),
]


def make_conversations():
    """[{name, messages, tools, kwargs}], the same every time."""
    conversations = []

    def add(name, messages, tools=None, kwargs=None):
        conversations.append(
            {"name": name, "messages": messages, "tools": tools, "kwargs": kwargs or {}}
        )

    for text_name, texts in TEXTS.items():
        for name, messages in plain_structures(*texts):
            add(f"{name}/{text_name}", messages)
        for name, messages, tools in tool_structures(*texts):
            add(f"{name}/{text_name}", messages, tools)
    for name, messages, tools, kwargs in SPECIAL:
        add(name, messages, tools, kwargs)
    return conversations


def make_options(conversation):
    """The option sets each conversation is rendered with, as ChatTemplateOptions has them."""
    options = [
        {"add_generation_prompt": True},
        {"add_generation_prompt": False},
        {"add_generation_prompt": True, "enable_thinking": False},
        {"add_generation_prompt": True, "enable_thinking": True},
    ]
    if conversation["messages"][-1]["role"] == "assistant":
        options.append({"add_generation_prompt": False, "continue_final_message": True})
    return options
