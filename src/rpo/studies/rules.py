"""Under which rules a result was made: a fingerprint of the code that judges and decides, kept in every record."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("judging", "models")
BELOW = ("functional", "grouping", "frames")  # of these, only what the packages import


@cache
def fingerprint() -> str:
    """Twelve hexadecimal digits of the SHA-256 of every file that judges and decides, docstrings aside.

    >>> len(fingerprint())
    12
    """
    home = Path(__file__).parents[1]
    total = hashlib.sha256()
    for path in rule_files(home):
        total.update(f"{path.relative_to(home).as_posix()}\0".encode())
        total.update(without_docstrings(path.read_text(encoding="utf-8")).encode())
    return total.hexdigest()[:12]


def rule_files(home: Path) -> list[Path]:
    """The files of `rpo.judging` and `rpo.models`, and those of the layers below that they import, in turn.

    >>> names = [path.stem for path in rule_files(Path(__file__).parents[1])]
    >>> "heterogeneity" in names, "lipirm" in names
    (True, False)
    """
    waiting = [path for name in PACKAGES for path in (home / name).rglob("*.py")]
    found = set(waiting)
    while waiting:
        new = set(_imported(waiting.pop(), home)) - found
        found |= new
        waiting += new
    return sorted(found)


def _imported(path: Path, home: Path) -> Iterator[Path]:
    """The modules of the layers below that a file imports from; of a package, its `__init__`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            top, *names = node.module.split(".")
            if top == "rpo" and names and names[0] in BELOW:
                place = home.joinpath(*names)
                yield from (one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file())


def without_docstrings(source: str) -> str:
    r"""The lines of a module that decide something: the words about them may be improved under the same rules.

    By lines and not by syntax trees, which are not the same in every Python.

    >>> without_docstrings("def twice(x):\n    '2 x'\n\n    return 2 * x\n")
    'def twice(x):\n    return 2 * x'
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines[first.lineno - 1 : first.end_lineno] = [""] * len(lines[first.lineno - 1 : first.end_lineno])
    return "\n".join(line for line in lines if line.strip())
