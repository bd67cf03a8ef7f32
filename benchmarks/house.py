"""How large the house is: lines, files, statements and functions of the tool and its laboratory, and names used twice.

    python -m benchmarks.house
    python -m benchmarks.house --page docs/architecture.md      # rooms and journeys, between their marks on the page

Statements and functions are counted in the syntax tree, so that neither long lines nor missing blank ones help.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

SOURCES = Path(__file__).resolve().parents[1] / "src"
PACKAGES = ("rpo", "rpo_lab")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """Size of a package; the lengths of its functions in lines."""

    lines: int
    files: int
    statements: int
    lengths: list[int]


def main() -> None:
    """Print the size of each package, and the names of files that occur twice in `rpo`."""
    table = Table("package", "lines", "files", "statements", "functions", "median length", "95th percentile")
    for package in PACKAGES:
        table.add_row(package, *as_cells(measure(SOURCES / package)))
    console = Console()
    console.print(table)
    console.print("file names used twice in rpo:", ", ".join(repeated_names(SOURCES / "rpo")) or "none")


def write_page(page: Path) -> None:
    """Put the table of rooms and that of journeys between their marks on a page."""
    text = page.read_text(encoding="utf-8")
    for name, table in (("rooms", room_table()), ("journeys", journey_table())):
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, after = text.split(start)[0], text.split(end)[1]
        text = f"{before}{start}\n{table}\n{end}{after}"
    page.write_text(text, encoding="utf-8")


def room_table() -> str:
    """Return the rooms as a table in Markdown: what each is for, its lines and files."""
    rows = [f"| `{name}` | {purpose(path)} | {lines:,} | {files} |" for name, path, lines, files in rooms()]
    return "\n".join(["| room | what it is for | lines | files |", "|---|---|--:|--:|", *rows])


def rooms() -> Iterator[tuple[str, Path, int, int]]:
    """Yield name, place, lines and files of each package below ours and of the tool's modules, and the sums."""
    for package in PACKAGES:
        home = SOURCES / package
        size = measure(home)
        yield f"{package}/", home / "__init__.py", size.lines, size.files
        for path in sorted(home.iterdir()):
            if (path / "__init__.py").exists():
                size = measure(path)
                yield f"{package}/{path.name}/", path / "__init__.py", size.lines, size.files
            elif path.suffix == ".py" and not path.name.startswith("__") and package == PACKAGES[0]:
                yield f"{package}/{path.name}", path, len(path.read_text(encoding="utf-8").splitlines()), 1


def purpose(path: Path) -> str:
    """Return the first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0].rstrip(".").replace("|", "\\|")


def journey_table() -> str:
    """Return the journeys as a table in Markdown: files and functions, before and now."""
    from benchmarks.journeys import BEFORE, JOURNEYS, count, measure, only_streamed

    journeys = {name: measure(name) for name in JOURNEYS}
    rows = [
        "| `{}` | {} | {} | {} | {} |".format(name, *BEFORE[name], *count(entered))
        for name, entered in journeys.items()
    ]
    head = ["| command | files, before | functions, before | files | functions |", "|---|--:|--:|--:|--:|"]
    streamed = f"| functions entered only when streamed | | 136 | | {len(only_streamed(journeys))} |"
    return "\n".join([*head, *rows, streamed])


def measure(package: Path) -> Size:
    """Measure a package; a function's length includes decorators and docstring."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    lines = sum(len(text.splitlines()) for text in texts)
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    return Size(lines, len(texts), statements, [length(node) for node in nodes if isinstance(node, FUNCTION)])


def length(function: FUNCTION) -> int:
    """Return the number of lines of a function.

    >>> length(ast.parse("@property\\ndef width(self):\\n    return 1").body[0])
    3
    """
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return (function.end_lineno or function.lineno) - first + 1


def as_cells(size: Size) -> list[str]:
    """Return the cells of one line of the table."""
    quantiles = np.percentile(size.lengths, [50, 95])
    counts = (size.lines, size.files, size.statements, len(size.lengths), *quantiles)
    return [f"{count:,.0f}" for count in counts]


def repeated_names(package: Path) -> list[str]:
    """Return the file names that occur twice in a package, except `__init__.py` and those of the command line."""
    paths = [path for path in package.rglob("*.py") if path.name != "__init__.py" and path.parent.name != "cli"]
    return sorted(name for name, count in Counter(path.name for path in paths).items() if count > 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--page"]:
        write_page(Path(sys.argv[2]))
    else:
        main()
