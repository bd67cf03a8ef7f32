"""`python -m tests.mirrored`: the files that changed since the last commit, and the tests that mirror them.

`make quick` runs these: the doctests of every changed module, and the tests of the same name, or, where there is no
such file, those of its folder. A change of something that all else imports says so, and is left to `make test`.
"""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"


def changed() -> list[Path]:
    """Return the Python files that differ from the last commit, or that Git does not know yet."""
    words = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    lines = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(line[3:]) for line in lines if line.endswith(".py") and (ROOT / line[3:]).exists()]


def mirrors_of(path: Path) -> Iterator[Path]:
    """Return the tests that mirror a file of the sources, and its own doctests; a test mirrors itself.

    >>> [test.as_posix() for test in mirrors_of(Path("src/rpo/_stats/scale.py"))]
    ['src/rpo/_stats/scale.py', 'tests/stats/test_scale.py']
    >>> [test.as_posix() for test in mirrors_of(Path("src/rpo_lab/table1.py"))]
    ['src/rpo_lab/table1.py', 'tests/lab/test_table1.py']
    """
    if path.parts[0] == "tests":
        yield from [path] if path.name.startswith("test_") else []
        return
    if path.parts[0] != "src":
        return
    yield path  # its doctests
    rooms = ["lab"] if path.parts[1] == "rpo_lab" else []
    folder = TESTS.joinpath(*rooms, *(room.lstrip("_") for room in path.parts[2:-1]))
    alone = folder / f"test_{path.stem.lstrip('_')}.py"
    if alone.exists():
        yield alone.relative_to(ROOT)
    elif folder.is_dir() and folder != TESTS:
        yield folder.relative_to(ROOT)


def all_mirrors(paths: Iterable[Path]) -> list[str]:
    """Return all of them, each once."""
    return sorted({test.as_posix() for path in paths for test in mirrors_of(path)})


if __name__ == "__main__":
    print(*all_mirrors(changed()))
