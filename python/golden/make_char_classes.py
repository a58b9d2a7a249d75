# SPDX-License-Identifier: Apache-2.0
"""Writes src/tokenizer/char_class_ranges.cc: Unicode's classes as `tokenizers` sees them.

Every property is probed through `tokenizers` itself (its regex engine, Digits, NFC and added tokens
each carry a Unicode version of their own), for every code point. Only the list of code points newer
than Unicode 9 (the version of its NFC) comes from Perl, which knows each code point's age.

Needs: pip install tokenizers==0.23.3; perl >= 5.36.
"""

import argparse
import pathlib
import subprocess

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
OTHER, LETTER, NUMBER, SPACE, NEWLINE = range(5)
NUMERIC, WORD, NFC_CHECK, NFC_NEWER = 0x08, 0x10, 0x20, 0x40


def matched(split):
    """The code points that a one-character pattern matches."""
    found = set()
    for start in range(0, len(CODE_POINTS), 4096):
        text = "".join(map(chr, CODE_POINTS[start : start + 4096]))
        kept = "".join(piece for piece, _ in split.pre_tokenize_str(text))
        found |= set(text) - set(kept)
    return {ord(c) for c in found}


def matched_by_regex(pattern):
    return matched(pre_tokenizers.Split(Regex(pattern), "removed"))


def numeric():
    found = set()
    split = pre_tokenizers.Digits(individual_digits=True)
    for start in range(0, len(CODE_POINTS), 4096):
        text = "".join("x" + chr(c) + "x" for c in CODE_POINTS[start : start + 4096])
        for piece, _ in split.pre_tokenize_str(text):
            if len(piece) == 1 and piece != "x":
                found.add(ord(piece))
    return found


def word_characters():
    """Where a single_word token is not found because this character follows it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.add_tokens([AddedToken("\x01", single_word=True, normalized=False)])
    found = set()
    for start in range(0, len(CODE_POINTS), 4096):
        chunk = [c for c in CODE_POINTS[start : start + 4096] if c != 1]
        text = "".join("\x01" + chr(c) + " " for c in chunk)
        seen = {offsets[0] for offsets in tokenizer.encode(text).offsets}
        found |= {c for i, c in enumerate(chunk) if 3 * i not in seen}
    return found


def needs_nfc_check():
    """Code points that NFC may change or move: others are starters that never combine back."""
    nfc, nfd = normalizers.NFC(), normalizers.NFD()
    found = set()
    for c in CODE_POINTS:
        text = chr(c)
        if nfc.normalize_str(text) != text:
            found.add(c)
            continue
        # A combining class: two marks of other classes around it change places. U+0334 has class 1,
        # U+0345 has class 240, the lowest and the highest in use.
        low, high = "\u0334", "\u0345"
        is_moved = (
            nfd.normalize_str(text + low) != text + low
            or nfd.normalize_str(high + text) != high + text
        )
        if is_moved and nfd.normalize_str(text) == text:
            found.add(c)
    # Characters that combine backward: the second of each canonical pair, Hangul's vowels and
    # finals among them.
    for c in CODE_POINTS:
        parts = nfd.normalize_str(chr(c))
        if len(parts) > 1 and nfc.normalize_str(parts) == chr(c):
            found |= {ord(p) for p in parts[1:]}
    return found | {0x0334, 0x0345}


def newer_than_unicode_9():
    script = "use Unicode::UCD qw(prop_invlist); print join(' ', prop_invlist('Present_In=9.0'));"
    bounds = [int(x) for x in subprocess.check_output(["perl", "-e", script]).split()]
    present = set()
    for begin, end in zip(bounds[::2], bounds[1::2] + [0x110000], strict=False):
        present |= set(range(begin, end))
    return set(CODE_POINTS) - present


def classify():
    letters, numbers = matched_by_regex(r"\p{L}"), matched_by_regex(r"\p{N}")
    spaces, newlines = matched_by_regex(r"\s"), matched_by_regex(r"[\r\n]")
    assert not letters & numbers and not (letters | numbers) & spaces and newlines <= spaces
    flags = [OTHER] * 0x110000
    for members, value in [
        (letters, LETTER),
        (numbers, NUMBER),
        (spaces, SPACE),
        (newlines, NEWLINE),
    ]:
        for c in members:
            flags[c] = value
    nfc_check = needs_nfc_check()
    newer = newer_than_unicode_9()
    assert not nfc_check & newer, "NFC is not of Unicode 9"
    for members, bit in [
        (numeric(), NUMERIC),
        (word_characters(), WORD),
        (nfc_check, NFC_CHECK),
        (newer, NFC_NEWER),
    ]:
        print(f"flag {bit:#x}: {len(members)} code points")
        for c in members:
            flags[c] |= bit
    for c in range(0xD800, 0xE000):
        flags[c] = flags[0xD7FF] if c == 0xD800 else flags[c - 1]
    return flags


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument(
        "--output", type=pathlib.Path, default=root / "src/tokenizer/char_class_ranges.cc"
    )
    arguments = parser.parse_args()
    flags = classify()
    ranges = [(c, f) for c, f in enumerate(flags) if c == 0 or flags[c - 1] != f]
    words = [f"0x{(c << 8) | f:x}," for c, f in ranges]
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 100:
            lines.append(line)
            line = ""
        line += word
    lines.append(line)
    arguments.output.write_text(
        "// SPDX-License-Identifier: Apache-2.0\n"
        f"// Generated by python/golden/make_char_classes.py from tokenizers "
        f"{tokenizers.__version__}; do not edit.\n"
        "// Each word: the first code point of a range << 8 | its CharFlags. Ranges are in order.\n"
        '#include "tokenizer/char_class.h"\n\n'
        "namespace whinchat {\n\n// clang-format off\n"
        f"const std::array<uint32_t, kNumCharClassRanges> kCharClassRanges = {{\n"
        + "\n".join(lines)
        + "\n};\n"
        "// clang-format on\n\n}  // namespace whinchat\n"
    )
    print(f"{len(ranges)} ranges, {len(lines)} lines")


if __name__ == "__main__":
    main()
