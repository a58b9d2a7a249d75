# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501  (text samples are not wrapped)
"""The strings that the tokenizer is compared on: what people write, and what breaks tokenizers.

Deterministic: the same list on every machine. Each entry is (unit, count): the bytes `unit` repeated.
"""

import random

SEED = 20261201

SENTENCES = {
    "english": [
        "The quick brown fox jumps over the lazy dog, doesn't it?",
        "I'd say we've got 3.14159 reasons; they'll agree, she's sure, I'm not.",
        "Dr. Smith-Jones (born 1974) paid $1,299.99 -- or \u20ac1.150,00 -- for it!",
        "WHAT'S UP? I'VE SEEN IT'LL WORK. HE'D KNOW, THEY'RE HERE, DON'T!",
    ],
    "chinese": [
        "\u4f60\u662f\u8c01\uff1f\u8bf7\u7528\u4e00\u53e5\u8bdd\u4ecb\u7ecd\u4f60\u81ea\u5df1\u3002",
        "\u6625\u5929\u6765\u4e86\uff0c\u82b1\u5f00\u4e86\uff0c\u9e1f\u513f\u5728\u679d\u5934\u6b4c\u5531\u3002",
        "2024\u5e7412\u670831\u65e5\uff0c\u6c14\u6e29\u96f6\u4e0b5\u2103\uff0c\u7968\u4ef7\u4e3a\uffe5120.50\u5143\u3002",
        "\u7e41\u9ad4\u4e2d\u6587\u6e2c\u8a66\uff1a\u300c\u8eab\u9ad4\u5065\u5eb7\u300d\u8207\u300e\u842c\u4e8b\u5982\u610f\u300f\u3002",
    ],
    "japanese": [
        "\u543e\u8f29\u306f\u732b\u3067\u3042\u308b\u3002\u540d\u524d\u306f\u307e\u3060\u7121\u3044\u3002",
        "\u30d7\u30ed\u30b0\u30e9\u30df\u30f3\u30b0\u8a00\u8a9e\u306e\u30c6\u30b9\u30c8\u3001\uff11\uff12\uff13\u756a\u3002",
        "\u304b\u3099\u304d\u3099\u304f\u3099 \u30cf\u309a\u30d2\u309a \uff76\uff9e\uff77\uff9e",
    ],
    "korean": [
        "\uc548\ub155\ud558\uc138\uc694? \ubc18\uac11\uc2b5\ub2c8\ub2e4! \uc624\ub298\uc740 12\uc6d4 1\uc77c\uc785\ub2c8\ub2e4.",
        "\u1112\u1161\u11ab\u1100\u1173\u11af \u1100\u1161\u11a8 \uac00\u11a8 \u3131\u314f",
    ],
    "arabic": [
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\u060c \u0643\u064a\u0641 \u062d\u0627\u0644\u0643\u061f",
        "\u0628\u0650\u0633\u0652\u0645\u0650 \u0671\u0644\u0644\u0651\u064e\u0647\u0650 \u0661\u0662\u0663\u0664 \u06f5\u06f6",
    ],
    "hebrew": [
        "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05b9\u05dc\u05b8\u05dd",
        '\u05de\u05d4 \u05e9\u05dc\u05d5\u05de\u05da \u05d4\u05d9\u05d5\u05dd? \u05e6\u05d4"\u05dc',
    ],
    "thai": [
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 \u0e51\u0e52\u0e53",
        "\u0e19\u0e49\u0e33\u0e15\u0e32\u0e25 \u0e41\u0e25\u0e30\u0e40\u0e01\u0e25\u0e37\u0e2d",
    ],
    "devanagari": [
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e \u0967\u0968\u0969",
        "\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f \u0929 \u0928\u093c \u0958 \u0915\u093c",
    ],
    "bengali": [
        "\u0986\u09ae\u09bf \u09ac\u09be\u0982\u09b2\u09be\u09af\u09bc \u0997\u09be\u09a8 \u0997\u09be\u0987 \u09e7\u09e8"
    ],
    "tamil": [
        "\u0bb5\u0ba3\u0b95\u0bcd\u0b95\u0bae\u0bcd \u0b89\u0bb2\u0b95\u0bae\u0bcd \u0b95\u0bc6\u0bbe"
    ],
    "russian": [
        "\u0412\u0441\u0435 \u0441\u0447\u0430\u0441\u0442\u043b\u0438\u0432\u044b\u0435 \u0441\u0435\u043c\u044c\u0438 \u043f\u043e\u0445\u043e\u0436\u0438, \u0438\u0306 \u0435\u0308 \u0439\u0451."
    ],
    "greek": [
        "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5 \u1f00\u03c1\u03c7\u1f74 \u1f10\u03bd, \u03b1\u0313\u0301 \u2126 \u212b"
    ],
    "vietnamese": [
        "Ti\u1ebfng Vi\u1ec7t r\u1ea5t kh\u00f3, Tie\u0302\u0301ng Vie\u0323\u0302t ra\u0302\u0301t kho\u0301."
    ],
    "european": [
        "Stra\u00dfe, \u00e9l\u00e8ve, ni\u00f1o, \u0142\u00f3d\u017a, \u010desk\u00fd, \u00c5ngstr\u00f6m, \ufb01n, l\u2019\u00e9t\u00e9.",
        "e\u0301le\u0300ve nin\u0303o A\u030angstro\u0308m c\u0327a s\u0323\u0307 d\u0307\u0323 q\u0307\u0323",
    ],
    "georgian": ["\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0 \u1c92\u1c90\u1c9b\u1c90"],
    "amharic": ["\u1230\u120b\u121d \u12d3\u1208\u121d\u1362 \u1369\u136a\u1372"],
    "tibetan": [
        "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51\u0f0b \u0f73 \u0f71\u0f72 \u0f20\u0f21\u0f2a"
    ],
    "khmer": ["\u179f\u17bd\u179f\u17d2\u178f\u17b8 \u17e1\u17e2 \u17b4\u17b5"],
    "emoji": [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd\U0001f44b\U0001f3ff \U0001f3f3\ufe0f\u200d\U0001f308",
        "\u2764\ufe0f\u200d\U0001f525 \U0001f1e8\U0001f1f3\U0001f1fa\U0001f1f8 1\ufe0f\u20e3 #\ufe0f\u20e3 \U0001f9d1\U0001f3fb\u200d\U0001f4bb",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f \U0001fae8\U0001fac3\U0001f6dc",
    ],
    "mathematics": [
        "\u2200x\u2208\u211d: x\u00b2\u22650 \u222b\u2080\u221e \U0001d400\U0001d7d8 \u00bd\u00be\u2153 \u2167\u2460\u3289 \u00b3\u2076"
    ],
}

CODE = [
    'def f(x: int) -> str:\n    return f"{x!r:>10}"  # don\'t\n\nclass A(B):\n\tpass\n',
    'int main(void) {\r\n  printf("%d\\n", 0x1F << 3);\r\n  return 0;\r\n}\r\n',
    'fn main() { let v: Vec<u8> = vec![1, 2, 3]; println!("{:?}", v.iter().map(|x| x + 1)); }',
    "const f = async (x) => { await fetch(`/api/${x}?q=1&r=2`); /* TODO */ };\n",
    "<div class=\"a b\" id='x'>\n  <p>&nbsp;&lt;b&gt;</p>\n</div>\n<!-- it's -->",
    "SELECT * FROM t WHERE a='it''s' AND b >= 10 -- c\nGROUP BY 1,2;",
    "#include <vector>\nstd::vector<int> v{1,2};\nauto&& [a,b]=p; a->b::c<<=1;",
    '{"a": [1, 2.5e-10, null], "\u4e2d": "\\u4e2d\\n"}',
    "for i in $(seq 1 10); do echo \"$i\" | sed 's/1/2/g' >> /tmp/x.log 2>&1; done",
    "SGVsbG8gV29ybGQhIFRoaXMgaXMgYmFzZTY0Lg== 0xDEADBEEF 550e8400-e29b-41d4-a716-446655440000",
    "https://example.org/a/b?c=d%20e#f user@example.com C:\\Users\\x\\y.txt ../../z",
    "| a | b |\n|---|:-:|\n| 1 | **2** |\n\n```py\nx = 1\n```\n\n1. _one_\n   - two\n",
    "\\begin{equation} \\frac{a_1}{b^{2}} = \\sum_{i=0}^{n} x_i \\end{equation}",
    "    \t\tmixed\t indentation  \n\n\n\t}\n  }\n}\n",
]

SPECIAL = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|eot_id|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|object_ref_start|>",
    "<fim_prefix>",
    "<|fim_middle|>",
    "<repo_name>",
    "<|start_header_id|>",
    "[STRIP]",
    "[LEFT]",
    "[RIGHT]",
    "[WORD]",
    "Caf\u00e9Token",
    "Cafe\u0301Token",
    "<|long|>",
    "<|long|>er",
]

SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u00a0",
    "\u3000",
    "\u2003",
    "\u2028",
    "\u0085",
    "\v",
    "\f",
    "\u200b",
    "\ufeff",
    "\u1680",
    "\u180e",
    "\u202f",
    "\u205f",
]

CONTRACTIONS = [
    "'s",
    "'t",
    "'re",
    "'ve",
    "'m",
    "'ll",
    "'d",
    "'S",
    "'T",
    "'RE",
    "'Ve",
    "'M",
    "'lL",
    "'LL",
    "'D",
    "'\u017f",
    "'\u212a",
    "'re\u0301",
    "'r",
    "'v",
    "'l",
    "'",
    "''",
    "'\u0455",
    "\u2019s",
    "'se",
    "'dd",
    "'l\u0142",
]

RUNS = [
    "a",
    " ",
    "\n",
    "\t",
    "\r\n",
    "ab",
    "1",
    "\u4e2d",
    "\u00e9",
    "e\u0301",
    "!",
    "\U0001f600",
    " a",
    "  \n",
    "-=",
    "\u0e01\u0e31",
    "a ",
    "\u00a0",
    "0",
    "<",
    "'",
    "\u0301",
    "\uac00",
    "\u1100\u1161",
    "\ufffd",
    "\x00",
]


def random_scalar(rng, begin=0, end=0x110000):
    while True:
        c = rng.randrange(begin, end)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def natural(rng):
    sentences = [s for group in SENTENCES.values() for s in group]
    yield from sentences
    yield from CODE
    for sentence in sentences:
        for _ in range(9):
            begin = rng.randrange(len(sentence))
            yield sentence[begin : begin + rng.randint(1, 24)]
    for _ in range(500):
        parts = [rng.choice(sentences) for _ in range(3)]
        cut = [p[(b := rng.randrange(len(p))) : b + rng.randint(1, 12)] for p in parts]
        yield rng.choice(SPACES).join(cut)
    for snippet in CODE:
        for _ in range(20):
            begin = rng.randrange(len(snippet))
            yield snippet[begin : begin + rng.randint(2, 50)]


def spaces(rng):
    words = ["a", "word", "\u4e2d\u6587", "1", "!", "\u00e9", "", "<", "\u0301", "\U0001f600"]
    for _ in range(700):
        yield "".join(
            rng.choice(words) + "".join(rng.choices(SPACES, k=rng.randint(0, 5)))
            for _ in range(rng.randint(1, 5))
        )
    for count in list(range(1, 20)) + [31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 200]:
        for space in [" ", "\t", "\n", "\r\n"]:
            yield space * count + rng.choice(words)


def numbers(rng):
    digits = [
        "0123456789",
        "\u0660\u0661\u0662\u0663",
        "\u0967\u0968\u0969",
        "\uff11\uff12\uff13",
        "\u00b2\u00b3\u00bd\u2167\u2460",
        "\u4e00\u4e8c\u4e09\u3007",
        "\U0001d7ce\U0001d7cf",
    ]
    for _ in range(350):
        system = rng.choice(digits)
        number = "".join(rng.choices(system, k=rng.randint(1, 14)))
        yield (
            rng.choice(["", " ", "  ", "x", "-", "$", "\n", "\u0301"])
            + number
            + rng.choice(["", " ", ".5", "px", "%", "\u0301", "'s", "\n"])
        )


def contractions(rng):
    for contraction in CONTRACTIONS:
        for left in ["", "x", " ", "1", "\n", "\u4e2d"]:
            yield left + contraction + rng.choice(["", "x", " y", "1", "\n"])


def specials(rng):
    for _ in range(600):
        token = rng.choice(SPECIAL)
        kind = rng.randrange(6)
        if kind == 0:
            token = token[: rng.randint(1, len(token))]
        elif kind == 1:
            token = token.upper()
        elif kind == 2:
            token = token + token[rng.randrange(len(token)) :]
        elif kind == 3:
            token = token + rng.choice(SPECIAL)
        left = rng.choice(["", "x", " ", "  ", "\n", "\u4e2d", "_", "\u0301", "\u3000 ", "e", "."])
        right = rng.choice(["", "y", " ", " \n ", "\u6587", "_", "\u0301", "\u00a0", "9", "."])
        yield left + token + right + rng.choice(["", "tail", " tail", token])


def marks(rng):
    bases = "aeAE\u00e9\u00f6\u0915\u0e01\u05d0\u0627\u03b1\u0438\uac00\u1100\u304b"
    mark_ranges = [
        (0x300, 0x370),
        (0x591, 0x5C8),
        (0x610, 0x61B),
        (0x64B, 0x660),
        (0x93C, 0x94E),
        (0xE31, 0xE4F),
        (0x1161, 0x1200),
        (0x1AB0, 0x1AD0),
        (0x1DC0, 0x1E00),
        (0x20D0, 0x20F1),
        (0x3099, 0x309B),
        (0xF71, 0xF85),
        (0x1D165, 0x1D170),
        (0x1E130, 0x1E137),
    ]
    for _ in range(700):
        text = ""
        for _ in range(rng.randint(1, 6)):
            text += rng.choice(bases)
            for _ in range(rng.randint(0, 4)):
                text += random_scalar(rng, *rng.choice(mark_ranges))
        yield text
    for c in [
        0x212B,
        0x2126,
        0x212A,
        0x0340,
        0x0341,
        0x0344,
        0x0374,
        0x037E,
        0x0958,
        0x0F73,
        0x2ADC,
        0xF900,
        0xFA10,
        0xFB1D,
        0x2F800,
        0x1D15E,
        0x11938,
        0x16D68,
        0x1F71,
        0x2000,
        0xFB4E,
    ]:
        yield "x" + chr(c) + "y"


def planes(rng):
    for plane in range(17):
        for _ in range(28):
            yield "".join(
                random_scalar(rng, plane << 16, (plane + 1) << 16) for _ in range(rng.randint(1, 8))
            )
    for _ in range(250):
        block = rng.randrange(0x0, 0x3200 // 0x80) * 0x80
        yield "".join(
            random_scalar(rng, block, block + 0x80) + rng.choice(["", "", " "]) for _ in range(10)
        )
    for _ in range(60):
        yield "".join(
            random_scalar(
                rng, *rng.choice([(0xE000, 0xF900), (0xF0000, 0xF0400), (0x100000, 0x100400)])
            )
            for _ in range(4)
        )
    for _ in range(100):
        yield "".join(
            chr(
                rng.choice(
                    [rng.randrange(0x20), rng.randrange(0x7F, 0xA0), rng.randrange(0x20, 0x7F)]
                )
            )
            for _ in range(12)
        )


def invalid(rng):
    sentences = [s for group in SENTENCES.values() for s in group]
    for _ in range(500):
        text = bytearray(rng.choice(sentences)[: rng.randint(2, 16)].encode())
        for _ in range(rng.randint(1, 4)):
            kind = rng.randrange(4)
            at = rng.randrange(len(text) + 1)
            if kind == 0:
                text[at:at] = bytes(rng.choices(range(0x80, 0x100), k=rng.randint(1, 4)))
            elif kind == 1 and text:
                del text[min(at, len(text) - 1)]
            elif kind == 2:
                text[at:at] = rng.choice(
                    [
                        b"\xed\xa0\x80",
                        b"\xc0\xaf",
                        b"\xf4\x90\x80\x80",
                        b"\xf0\x9f\x98",
                        b"\xe4\xb8",
                        b"\xff\xfe",
                    ]
                )
            else:
                del text[at:]
        yield bytes(text)


def mixtures(rng):
    everything = (
        [c for group in SENTENCES.values() for s in group for c in s]
        + SPACES
        + CONTRACTIONS
        + SPECIAL
    )
    for _ in range(500):
        yield "".join(rng.choices(everything, k=rng.randint(1, 20)))


def entries():
    """The list of (unit, count). No two are equal."""
    rng = random.Random(SEED)
    seen = {}
    for generator in [
        natural,
        spaces,
        numbers,
        contractions,
        specials,
        marks,
        planes,
        invalid,
        mixtures,
    ]:
        for text in generator(rng):
            data = text if isinstance(text, bytes) else text.encode("utf-8")
            if data:
                seen.setdefault((data, 1))
    for run in RUNS:
        for count in [2, 3, 7, 31, 64, 127, 128, 129, 130, 257, 1000, 20011]:
            seen.setdefault((run.encode("utf-8"), count))
    for run in ["a", " ", "\n", "\u4e2d", "ab", "1"]:
        seen.setdefault((run.encode("utf-8"), 1000003 // len(run.encode("utf-8"))))
    return list(seen)


if __name__ == "__main__":
    listed = entries()
    print(len(listed), "strings,", sum(len(unit) for unit, _ in listed), "bytes before repetition")
