"""Cells, names and bytes that somebody has seen, or might send."""

from typing import Any

import numpy as np

Rng = np.random.Generator

NUMBERS = (
    "0", "-0", "1e18", "-1e18", "9.97e36", "9.969209968386869e+36", "1e38", "1e39", "1e60", "1e100", "1e160", "1e300",
    "1.7976931348623157e308", "-1.7976931348623157e308", "1e400", "5e-324", "1e-38", "1e-45", "1e-160", "inf", "-inf",
    "Infinity", "nan", "NaN", "-999", "-9999", "99999", "9223372036854775807", "-9223372036854775808",
    "18446744073709551616", "123456789012345678901", "340282350000000000000000000000000000000", "0.1", "1.", ".5", "+5",
    "1,5", "1.234,56", "1_000", "0x10", "1e5", "1E5", "12 kg", "5%", "$5", "1/2", "01", "001", "007", "02001", "1e",
    "--1", "٣", "１２", "½", "1\u00a0000", " 5 ", "5\t",
)  # fmt: skip
TEXTS = (
    "", " ", "NA", "N/A", "null", "None", "#N/A", "true", "FALSE", "yes", "a", "A", "ä", "\u00e9", "e\u0301", "日本語",
    "\U0001f600", "\u202eabc", "\u0000", "\x1b[2J", "\x1b]0;x\x07", "\x7f", "\u200b", "\ufeff", "\ud7ff", "\uffff",
    "<script>alert(1)</script>", "[x](http://evil.example)", "![i](http://evil.example/i)", "www.evil.example",
    "https://evil.example", "`rm`", "{{7*7}}", "{%x%}", "{0}", "%s%n", "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0",
    "'; DROP TABLE x;--", "../../etc/passwd", "/dev/zero", "C:\\nul", "\\", "|", "&amp;", "a,b", 'a"b', "a\nb",
    "a\r\nb", "[bold]x[/bold]", "[/]", "[link=file:///etc/passwd]x[/link]", "(missing)", "all", "x" * 300, "y" * 20_000,
)  # fmt: skip
DATES = (
    "2020-01-31", "2020-02-30", "0001-01-01", "9999-12-31", "10000-01-01", "0000-00-00", "1600-02-29", "2262-04-12",
    "2020-01-31T12:00:00Z", "2020-01-31 25:00", "2020-1-3", "31.01.2020", "2020-01-31T00:00:00+99:00", "-2020-01-01",
)  # fmt: skip
NAMES = (
    "", " ", "y", "d", "x", "prediction", "probability of a", "probability of yes", "domain", "target", "stratum",
    "weight", "row", "index", "__index_level_0__", "x missing", "x=a", "level_0", "n", "noise", "p", "a__b",
    "__class__", "\x1b[2J", "<b>", "[x](http://evil.example)", "a,b", 'a"b', "a\nb", "日本語", "\u202e", "z" * 5_000,
    "0", "1e5", "001", "nan", "True", "--help", "-t", "{x}", "%s", "a.b", "a/b",
)  # fmt: skip
ENCODINGS = (
    "utf-8", "utf-8", "utf-8", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "ascii", "cp037",
    "utf-7", "shift_jis", "big5", "iso2022_jp", "idna", "rot13", "hex", "unicode_escape", "klingon", "", "\x00",
)  # fmt: skip


def one_of(rng: Rng, values: Any) -> Any:
    """One of some values, whatever they are."""
    return values[int(rng.integers(len(values)))]


def cell(rng: Rng) -> str:
    """A cell: mostly numbers, then text, then dates."""
    return str(one_of(rng, one_of(rng, (NUMBERS, NUMBERS, TEXTS, DATES))))


def damaged(rng: Rng, data: bytes, most: int = 4) -> bytes:
    """Bytes with a few of them flipped, cut, doubled, moved or put in."""
    made = bytearray(data)
    for _ in range(int(rng.integers(1, most + 1))):
        if not made:
            return bytes(made)
        at = int(rng.integers(len(made)))
        length = int(min(len(made) - at, 1 + rng.geometric(0.05)))
        way = rng.integers(8)
        if way < 3:
            made[at] ^= 1 << int(rng.integers(8))
        elif way == 3:
            made[at] = int(rng.integers(256))
        elif way == 4:
            del made[at : at + length]
        elif way == 5:
            made[at:at] = made[at : at + length] * int(rng.integers(1, 4))
        elif way == 6:
            made[at:at] = one_of(
                rng, (b"\0", b"\xff", b"\n", b'"', b",", b"\r", b"\xef\xbb\xbf", b"\xff\xfe", rng.bytes(8))
            )
        else:
            del made[at:]
    return bytes(made)
