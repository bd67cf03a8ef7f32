"""Every sentence a user may meet, in one file: tests/messages.txt.

Errors, warnings and the helps of options, as the source has them, file by file. A change of one shows in a diff, and
the next reader sees them together. `python -m tests.test_messages` writes the file anew.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTED = Path(__file__).with_name("messages.txt")
WARN, HELPED = "warn", ("Option", "Argument")


def text_of(node: ast.expr) -> str:
    """A message as it stands in the source, what is put into it in braces.

    >>> text_of(ast.parse('f"{name!r} is " + "odd"').body[0].value)
    '{name!r} is odd'
    """
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.FormattedValue):
        conversion = f"!{chr(node.conversion)}" if node.conversion > 0 else ""
        spec = f":{text_of(node.format_spec)}" if node.format_spec else ""
        return f"{{{ast.unparse(node.value)}{conversion}{spec}}}"
    if isinstance(node, ast.IfExp):
        return f"[{text_of(node.body)} | {text_of(node.orelse)}]"
    return f"{{{ast.unparse(node)}}}"


def messages(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, kind and text of each message of a module."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if name in HELPED and "help" in given:
            option = text_of(node.args[0]) if node.args and isinstance(node.args[0], ast.Constant) else ""
            yield node.lineno, f"help {option}".rstrip(), text_of(given["help"])
        elif name == WARN and node.args:
            yield node.lineno, "warning", text_of(node.args[0])
        elif name.endswith("Error") and name[0].isupper() and node.args:
            yield node.lineno, name, text_of(node.args[0])


def listing() -> str:
    """All of them: files in alphabetical order, messages in that of the source."""
    lines = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        found = sorted(messages(ast.parse(path.read_text(encoding="utf-8"))))
        if found:
            lines.append(f"\n{path.relative_to(ROOT).as_posix()}")
            lines += [f"  {kind}: {' '.join(text.split())}" for _, kind, text in found]
    return "\n".join(lines).lstrip() + "\n"


@pytest.mark.skipif(not (ROOT / "src").exists(), reason="the sources are not part of this copy")
def test_the_list_of_messages_is_that_of_the_source():
    assert listing() == LISTED.read_text(encoding="utf-8"), "run `python -m tests.test_messages`, and read the diff"


def test_messages_are_found_in_all_their_forms():
    source = (
        'raise InputError(f"no {name!r}" if a else "none")\n'
        'warnings.warn("odd: " f"{x:.2f}", UserWarning)\n'
        'A = typer.Option("--drop", help="Leave out.")\n'
    )
    assert [one[1:] for one in sorted(messages(ast.parse(source)))] == [
        ("InputError", "[no {name!r} | none]"),
        ("warning", "odd: {x:.2f}"),
        ("help --drop", "Leave out."),
    ]


def test_no_message_shouts_and_no_error_ends_in_a_full_stop():
    """As scikit-learn and pandas put them."""
    lines = [line.strip().partition(": ") for line in listing().splitlines() if line.startswith("  ")]
    loud = [text for _, _, text in lines if "!" in re.sub(r"!r|!s|!=", "", text)]
    stopped = [text for kind, _, text in lines if kind.endswith("Error") and text.endswith(".")]
    assert (loud, stopped) == ([], [])


if __name__ == "__main__":
    LISTED.write_text(listing(), encoding="utf-8")
    print(f"{LISTED.name}: {len(listing().splitlines())} lines")
