"""The `rpo` command: one file per command; nothing heavy is imported before a command runs."""

import re
import sys
import warnings
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from inspect import cleandoc
from typing import Annotated

import typer

from rpo._io import printable, words_of
from rpo.cli import check, compare, fit, methods, predict, quality
from rpo.cli.console import shorten
from rpo.exceptions import InputError, TrainingError

MOST_WORDS = 200

app = typer.Typer(
    name="rpo",
    help="Models that hold up on unseen domains, from training data of uneven quality.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(quality.quality)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(check.check)
app.command()(compare.compare)
app.command()(methods.methods)


def flowing(text: str) -> str:
    r"""Join the lines of each paragraph of a help text, and escape brackets such as those of `rpo[real]`.

    >>> print(flowing("One.\n\n[bold]Two[/bold] needs\nrpo[real].\n\n    rpo two\n"))
    One.
    <BLANKLINE>
    [bold]Two[/bold] needs rpo\[real].
    <BLANKLINE>
        rpo two
    """
    parts = re.sub(r"\[(?!/?bold\])", r"\\[", cleandoc(text)).split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else part.replace("\n", " ") for part in parts)


def add_commands() -> None:
    """Add the commands of other installed packages; print a note about those that cannot be loaded."""
    for entry in entry_points(group="rpo.commands"):
        if find_spec(entry.module.partition(".")[0]) is None:
            continue  # left out of this installation
        try:
            entry.load()(app)
        except Exception as error:
            words = f"the commands of {entry.module} cannot be loaded: {words_of(error, MOST_WORDS)}"
            print(f"rpo: {shorten(printable(words))}", file=sys.stderr)


def let_help_flow(commands: typer.Typer) -> None:
    """Let the help texts of all commands, also those in groups, fit any width."""
    for command in commands.registered_commands:
        command.help = flowing(getattr(command.callback, "__doc__", None) or "")
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            let_help_flow(group.typer_instance)


add_commands()
let_help_flow(app)


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"rpo {version('rpo')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Models that hold up on unseen domains, from training data of uneven quality."""


UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h: the fault is in the program


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2.

    Unexpected errors are one line, too, with exit code 70 and the name of the file with the traceback.
    """
    # scikit-learn warns that classes with few rows may be numbers; our reader says so once.
    warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
    try:
        app()
    except (InputError, TrainingError, OSError) as error:
        _stop(str(error), 2)
    except MemoryError:
        _stop("not enough memory: use fewer rows or columns, or a machine with more memory", 2)
    except Exception as error:
        words = f"{type(error).__name__}: {words_of(error, MOST_WORDS)}"
        _stop(f"unexpected error ({words}); please report it, with the file {_details()}", UNFORESEEN)


def _stop(line: str, code: int) -> None:
    print(f"rpo: {shorten(printable(line))}", file=sys.stderr)
    sys.exit(code)


def _details() -> str:
    """Write the traceback, the command and the versions to a new file, for a report; return its name."""
    import platform
    import shlex
    import tempfile
    import traceback

    names = ("rpo", "numpy", "pandas", "pyarrow", "scikit-learn", "torch")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    lines = [shlex.join(["rpo", *sys.argv[1:]]), f"{versions}, Python {platform.python_version()}", platform.platform()]
    try:
        with tempfile.NamedTemporaryFile("w", prefix="rpo-", suffix=".txt", delete=False, errors="replace") as file:
            file.write("\n".join([*lines, "", traceback.format_exc()]))
    except OSError as error:
        return f"(which could not be written: {error.strerror})"
    return file.name
