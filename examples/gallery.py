"""Run the six scripts of the gallery, and write the page that shows them: `python examples/gallery.py`.

The page has the words of each script, its code, what it printed, and its figure. `make test-slow` runs them again and
compares what they print, digits aside.
"""

import ast
import io
import runpy
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

SCRIPTS = {
    "radon": "A real table, end to end",
    "bad_site": "A noisy site",
    "weights": "Weights for your own learner",
    "new_county": "An unseen county",
    "own_loss": "Your own loss",
    "sweep": "Thirty-six models at once",
}
HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
HEAD = """# Examples

Six scripts that you can run as they are, with `python examples/NAME.py`; their output and figures are shown. The folder
`examples/` has more: images from files (`photos.py`), a search with Optuna (`search.py`), one model on several
processes (`ddp.py`), a method as a package (`own_method/`), and the paper's algorithm on Cigar (`cigar.py`).
"""


def printed(name: str, place: Path) -> str:
    """What a script prints; its figure goes into `place`."""
    said = io.StringIO()
    place.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as work:
        with chdir(work), redirect_stdout(said):
            runpy.run_path(str(HERE / f"{name}.py"), run_name=f"examples.{name}")["main"](Path("out"))
        for made in Path(work, "out").iterdir():
            copyfile(made, place / made.name)
    return said.getvalue().rstrip()


def section(name: str, said: str) -> str:
    """A part of the page."""
    code = (HERE / f"{name}.py").read_text(encoding="utf-8")
    words = ast.get_docstring(ast.parse(code)) or ""
    body = code.split('"""\n', 1)[1].strip()
    shown = "\n".join(f"    {line}".rstrip() for line in body.splitlines())
    return (
        f"## {SCRIPTS[name]}\n\n{words}\n\n```text\n{said}\n```\n\n![{SCRIPTS[name]}](figures/examples/{name}.png)\n\n"
        f'??? example "examples/{name}.py"\n\n    ```python\n{shown}\n    ```\n'
    )


def main(names: list[str]) -> None:
    """Write the page, running the scripts named (all by default); of the others what the page has stays."""
    page = DOCS / "examples.md"
    old = dict.fromkeys(SCRIPTS, "")
    if names:
        parts = page.read_text(encoding="utf-8").split("\n```text\n")[1:]
        old |= {name: part.split("\n```\n")[0] for name, part in zip(SCRIPTS, parts, strict=True)}
    figures = DOCS / "figures" / "examples"
    said = {name: printed(name, figures) if not names or name in names else old[name] for name in SCRIPTS}
    page.write_text("\n".join([HEAD, *(section(name, said[name]) for name in SCRIPTS)]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
