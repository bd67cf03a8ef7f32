"""Code shared by the commands of all studies: options, runs, writing of results, figures and page, printing."""

import json
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from rpo._io import console, printable
from rpo.cli.options import Cluster, Plugin, load_plugins

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rpo_lab.runner.figures import View
    from rpo_lab.runner.results import Results
    from rpo_lab.runner.runner import Records
    from rpo_lab.runner.specification import Run
    from rpo_lab.runner.store import Store


ADDED = "Methods added"


@dataclass(frozen=True)
class Asked:
    """Options of the command line: those of every study, and the text of those of this study only.

    A field that is an option is annotated with it.
    """

    name: str
    profile: Annotated[str, typer.Option(help="How much to run: 'quick' or 'paper'.")] = "quick"
    seeds: Annotated[int | None, typer.Option(help="Number of seeds. (default: that of the profile)")] = None
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", help="Number of worker processes, with one thread each. (default: one per core)"),
    ] = None
    cluster: Cluster = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for records, results and figures. (default: a folder in out/)"),
    ] = None
    selection: Annotated[
        str, typer.Option(help="How models are selected: validation, leave-one-out, irm, formula or oracle.")
    ] = "validation"
    correction: Annotated[str, typer.Option(help="Correction of p-values for multiple comparisons: none or holm.")] = (
        "none"
    )
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show how much there is to run, and exit.")] = False
    records: Annotated[
        Path | None, typer.Option("--records", help="File to read all runs from, instead of training.")
    ] = None
    records_out: Annotated[
        Path | None, typer.Option("--records-out", help="File to write all runs to, such as table1.jsonl.gz.")
    ] = None
    add: Annotated[
        list[str] | None, typer.Option(help="Methods to add as rows, separated by commas; may be repeated.")
    ] = None
    plugin: Plugin = None
    figures: Annotated[Path | None, typer.Option(help="Folder for the figures. (default: that of the results)")] = None
    page: Annotated[Path | None, typer.Option(help="Markdown page to insert the results into.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False
    usual: Mapping[str, str] = field(default_factory=dict)
    """Where this study's defaults are not the ones above."""
    extra: str = ""
    family: str = ""
    """Studies of one family keep their records together, and so share the runs they have in common."""

    @property
    def folder(self) -> Path:
        """Where records and results go."""
        return self.out or Path(f"out/{self.family or self.name}-{self.profile}")

    @property
    def drawings(self) -> Path:
        """Where figures go."""
        return self.figures or self.folder

    @property
    def leave_one_out(self) -> bool:
        """Whether the rule asked for needs scores of domains left out, whatever the profile."""
        return self.selection == "leave-one-out"

    @property
    def workers(self) -> int:
        """Processes to use."""
        from joblib import cpu_count

        return cpu_count() if self.jobs is None else self.jobs

    @property
    def command(self) -> str:
        """The command that makes the page again.

        >>> Asked("table1", "quick", seeds=5).command
        'rpo bench table1 --profile quick --seeds 5'
        """
        usual = {"selection": "validation", "correction": "none", **self.usual}
        values = {
            "--profile": self.profile,
            "--seeds": self.seeds,
            "--add": ",".join(self.add) if self.add else None,
            "--plugin": self.plugin or None,
            **{f"--{name}": getattr(self, name) for name in usual if getattr(self, name) != usual[name]},
            "--figures": self.figures,
            "--page": self.page,
        }
        options = (_words(name[2:], value) for name, value in values.items() if value is not None)
        words = [f"rpo bench {self.name}", self.extra, *options]
        return " ".join(word for word in words if word)


def command(
    *,
    without: Container[str] = (),
    family: Callable[[Mapping[str, Any]], str] = lambda _: "",
    **usual: str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function of `asked` and a study's own options a command that has the options of every study too.

    `without` names those that make no sense here, `usual` gives another default; `family` tells from the study's own
    options whose records it shares.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(function, eval_str=True).parameters.values()
        common = [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=usual.get(f.name, f.default), annotation=f.type)
            for f in fields(Asked)
            if get_origin(f.type) is Annotated and f.name not in without
        ]

        @wraps(function)
        def asks(**given: Any) -> None:
            load_plugins(given.get("plugin"))
            mine = {p.name: given.pop(p.name) for p in own}
            extra = " ".join(_words(p.name, mine[p.name]) for p in own if mine[p.name] != p.default)
            asked = Asked(
                function.__name__.replace("_", "-"), usual=usual, extra=extra, family=family(mine), **{**usual, **given}
            )
            function(asked, **mine)

        parameters = [*(p.replace(kind=Parameter.KEYWORD_ONLY) for p in own), *common]
        asks.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        asks.__annotations__ = {p.name: p.annotation for p in parameters}
        return asks

    return decorate


def _words(name: str, value: Any) -> str:
    """Write an option as one would type it in a shell, once for each value of several.

    >>> _words("page", "my page.md"), _words("plugin", ["a", "b"])
    ("--page 'my page.md'", '--plugin a --plugin b')
    """
    option = f"--{name.replace('_', '-')}"
    values = value if isinstance(value, list | tuple) else [value]
    return option if value is True else " ".join(f"{option} {shlex.quote(str(item))}" for item in values)


def show(asked: Asked, views: "Sequence[View]", *, also: "Sequence[Run]" = ()) -> None:
    """Do the runs of all views, write each one's results and figure, put them into the page, and print them.

    `also` are runs that were shown otherwise, and belong into the file of records.
    """
    from rpo_lab.runner.page import put_study
    from rpo_lab.runner.render import to_json, to_rich
    from rpo_lab.runner.results import check_correction
    from rpo_lab.runner.selection import get_rule

    rule, correction = get_rule(asked.selection), check_correction(asked.correction)
    views = [_with_rows(view, asked.add or ()) for view in views]
    records = do(asked, [*also, *(run for view in views for run in view.study.runs())])
    if records is None:
        return
    shown = []
    for view in views:
        by_rule = view.by_rule(records, rule, correction)
        written = write(by_rule, view, asked)
        words = view.words(by_rule[0])
        if asked.page is not None:
            put_study(asked.page, view, by_rule, asked.command, written[-1])
        shown.append((by_rule[0], words, written))
    if asked.as_json:
        content = [
            to_json(results) | {"summary": words, "files": [str(path) for path in written]}
            for results, words, written in shown
        ]
        tell(asked, content[0] if len(content) == 1 else content, [], [], "")
        return
    for results, words, written in shown:
        figure = next(path for path in written if path.suffix == ".png")
        where = f"The figure is {figure}; results and records are in {written[0].parent}."
        tell(asked, {}, [to_rich(results), ""], words, f"\n{where}")


def tell(asked: Asked, content: object, tables: "Sequence[RenderableType]", lines: Sequence[str], last: str) -> None:
    """Print results: as JSON if asked, else as tables, sentences and a last line."""
    if asked.as_json:
        typer.echo(json.dumps(_without_nan(content), ensure_ascii=False, indent=1))
        return
    for table in tables:
        console().print(table)
    for line in lines:
        typer.echo(f"- {line.replace('**', '')}")
    typer.echo(last)


def _without_nan(value: object) -> object:
    """Replace NaN by None, for JSON."""
    if isinstance(value, Mapping):
        return {name: _without_nan(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and value != value else value


def _with_rows(view: "View", names: "Sequence[str]") -> "View":
    """Add a row for each further method to a view, its hyper-parameters chosen among three values of the first."""
    from rpo._comparison.table_networks import grid_of
    from rpo.methods import get_method
    from rpo_lab.runner.problems import load
    from rpo_lab.runner.study import Row

    methods = [name for text in names for name in text.split(",")]
    for name in methods:
        get_method(name).check_task(load(view.study.settings[0].data, view.study.seeds[0]).train.task)
    rows = tuple(Row(name, name, grid_of(name), section=ADDED) for name in methods)
    return replace(view, study=replace(view.study, rows=(*view.study.rows, *rows))) if rows else view


def do(asked: Asked, runs: "Sequence[Run]") -> "Records | None":
    """Return the records of all runs, missing ones done; None if only the amount of work was asked for.

    From a file of records nothing is done: what it lacks is an error.
    """
    from rpo_lab.runner.store import Store

    runs = list({run.digest: run for run in runs}.values())
    if asked.records is not None:
        from rpo_lab.runner.store import read_records

        records = read_records(asked.records, runs)
        if earlier := sum(record.run.digest != digest for digest, record in records.items()):
            typer.echo(f"The rows of {earlier:,} runs were judged by an earlier version of the rules.", err=True)
        if asked.dry_run:
            typer.echo(f"{len(runs)} runs, all of them in {asked.records}.")
            return None
    elif asked.dry_run:
        _say_what_there_is_to_do(runs, Store(asked.folder), asked.workers)
        return None
    else:
        records = _done(asked, runs)
    if asked.records_out is not None:
        from rpo_lab.runner.store import write_records

        write_records(asked.records_out, runs, records)
    return records


def _done(asked: Asked, runs: "Sequence[Run]") -> "Records":
    """Do the runs that are missing; return the records of all."""
    from rpo_lab.runner.runner import cluster_at, execute
    from rpo_lab.runner.store import Store

    store = Store(asked.folder)
    label = f"{asked.name}, {asked.profile}"
    records = execute(runs, store, jobs=asked.workers, cluster=cluster_at(asked.cluster), label=label)
    for path in store.aside:
        typer.echo(f"A damaged record was moved to {path}; its run was repeated.", err=True)
    for name in sorted({run.method for run in runs if run.source}):  # from outside: their authors want to know
        theirs = [records[run.digest] for run in runs if run.method == name]
        bad = [record for record in theirs if record.status == "failed"]
        if bad:
            words = f"{name} failed in {len(bad)} of {len(theirs)} runs: {bad[0].reason}"
            typer.echo(f"FAILED: {printable(words)}; the same command tries it again", err=True)
    return records


def _say_what_there_is_to_do(runs: "Sequence[Run]", store: "Store", jobs: int) -> None:
    from rpo_lab.runner.runner import plan

    todo = plan(runs, store)
    typer.echo(f"{len(runs)} runs, {len(todo.done)} done, {todo.missing} to do in {len(todo.stacks)} stacks.")
    for path in store.corrupt:
        typer.echo(f"{path} is damaged: it will be moved aside and its run repeated.")
    if todo.missing:
        typer.echo(f"About {_duration(todo.seconds(jobs))} with {jobs} workers, if each has a core of its own.")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def write(by_rule: "Sequence[Results]", view: "View", asked: Asked) -> list[Path]:
    """Write the results in every form and as a figure; return the paths, the figure's SVG last."""
    from rpo._io import write_whole
    from rpo_lab.runner.render import to_csv, to_html, to_markdown

    main = by_rule[0]
    forms = {"csv": to_csv(*by_rule), "html": to_html(*by_rule, words=view.words(main)), "md": to_markdown(main)}
    for ending, text in forms.items():
        write_whole(asked.folder / f"{view.name}.{ending}", text)
    paths = [asked.folder / f"{view.name}.{ending}" for ending in forms]
    return [*paths, *view.draw(main, asked.drawings)]
