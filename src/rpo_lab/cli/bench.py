"""`rpo bench`: a command for each study, which continues where it stopped."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from rpo_lab.cli.shared import Asked, command, do, show, tell

Settings = Annotated[str, typer.Option(help="Settings from 1 to 14, separated by commas, or 'all'.")]
Digits = Annotated[str, typer.Option(help="'mnist', or 'sklearn' for small digits that need no download.")]
CmnistMethods = Annotated[
    str, typer.Option(help="'all', or 'main' for ERM, IRM, V-REx, RPO, its halves and its controls.")
]
Kinds = Annotated[
    str,
    typer.Option(
        help="Kinds of corruption, separated by commas: before, plain, after, clean, radon, digits, fresh, new, "
        "natural; or 'all'."
    ),
]
Noisy = Annotated[str, typer.Option(help="Percentages of noisy cells, separated by commas: 10, 30, 50; or 'all'.")]
Methods = Annotated[str, typer.Option(help="'all', or 'main' for quality weights, their controls and IRM + lip.")]
First = Annotated[int | None, typer.Option(help="First seed. (default: 0, or 500 for 'paper')")]
Tables = Annotated[str, typer.Option(help="Tables to use, separated by commas. (default: those of the profile)")]
Frozen = Annotated[str, typer.Option(help="The commit at which the rules were frozen; shown on the page.")]

FAMILY = {"mnist": "cmnist", "sklearn": "cdigits"}
RULE = "irm"  # validation risk prefers models that rely on colour


def family(own: Mapping[str, Any]) -> str:
    """Return the name of the family of a study; studies of the same digits share their runs."""
    return FAMILY.get(own["digits"], "cmnist")


@command()
def table1(asked: Asked) -> None:
    """Reproduce the paper's regression table on Cigar and Wage, with controls.

    'quick' takes two minutes; 'paper' uses ten seeds and all grids. Each run is saved to --out when it finishes: the
    same command continues an interrupted study, and another --selection reuses the same runs.

    [bold]Examples[/bold]

        rpo bench table1

        rpo bench table1 --profile paper --jobs 4 --out out/table1

        rpo bench table1 --profile paper --out out/table1 --selection irm --correction holm

        rpo bench table1 --profile paper --records-out table1.jsonl.gz

        rpo bench table1 --profile paper --records table1.jsonl.gz --page table1.md

        rpo bench table1 --add vrex,fishr

        rpo bench table1 --plugin my_methods --add my-method

        rpo bench table1 --profile paper --cluster tcp://10.0.0.5:8786
    """
    from rpo_lab import table1 as study

    table = study.table1(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out)
    show(asked, [study.view(table)])


@command(family=family, selection=RULE)
def cmnist(
    asked: Asked, settings: Settings = "1,7,13", methods: CmnistMethods = "all", digits: Digits = "mnist"
) -> None:
    """Compare accuracy and AUC on Colored-MNIST with uneven quality, as the paper does and with equal tuning for all.

    'quick' takes five minutes on two cores; 'paper' uses ten seeds of 500 steps and takes hours. Models are selected
    by the smallest IRM penalty on validation rows, because the validation risk prefers models that rely on colour.
    Each run is saved to --out when it finishes: the same command continues an interrupted study, and more --seeds add
    to it.

    [bold]Examples[/bold]

        rpo bench cmnist --digits sklearn

        rpo bench cmnist --profile quick --seeds 5

        rpo bench cmnist --settings all --methods main --selection oracle
    """
    from rpo_lab import cmnist as study

    views = study.cmnist(
        asked.profile,
        settings=settings,
        methods=methods,
        seeds=asked.seeds,
        leave_one_out=asked.leave_one_out,
        digits=digits,
    )
    show(asked, views)


@command(without=("add", "plugin"), family=family, selection=RULE)
def ablation(asked: Asked, digits: Digits = "mnist") -> None:
    """Compare RPO with RPO-Pen (only penalties by domain) and RPO-Lip (only penalties by stratum).

    On settings 1 (Bad Domain) and 7 (Bad Group) of Colored-MNIST, as the paper does and with equal tuning for all; the
    paper's figures are shown as well. Runs that `rpo bench cmnist` has finished are reused.

    [bold]Examples[/bold]

        rpo bench ablation --digits sklearn

        rpo bench ablation --profile paper
    """
    from rpo_lab import cmnist as study

    show(asked, study.ablation(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out, digits=digits))


@command(
    without=("jobs", "cluster", "selection", "correction", "dry_run", "add", "plugin"), family=family, selection=RULE
)
def penalties(asked: Asked, settings: Settings = "1,7", digits: Digits = "mnist") -> None:
    """Draw the penalties η and ρ that RPO finds on Colored-MNIST, next to the settings, as in the paper.

    Only the first stage is trained, which takes about a second per seed. Up to three settings are drawn.

    [bold]Examples[/bold]

        rpo bench penalties --digits sklearn

        rpo bench penalties --settings 13 --seeds 10
    """
    from rich.table import Table

    from rpo._io import write_whole
    from rpo_lab import penalties as study
    from rpo_lab.cmnist import numbers_of
    from rpo_lab.runner.drawing import save
    from rpo_lab.runner.store import read_file, write_file

    numbers = numbers_of(settings)
    if asked.records is None:
        records = study.penalties(numbers, asked.profile, seeds=asked.seeds, digits=digits)
    else:
        records, _ = read_file(asked.records)
    results = study.found_in(records, numbers, asked.profile, seeds=asked.seeds, digits=digits)
    if asked.records_out is not None:
        write_file(asked.records_out, records)
    values = asked.folder / "penalties.csv"
    write_whole(values, study.to_csv(results))
    drawn = []
    if len(results) <= study.MOST_DRAWN:
        drawn = save(study.penalties_figure(results), asked.drawings, "penalties")
    if asked.page is not None:
        study.put_on_page(asked.page, results, asked.command, drawn[-1] if drawn else None)
    lines = study.lines_of(results)
    shown = Table(*lines[0])
    for line in lines:
        shown.add_row(*map(str, line.values()))
    content = {"settings": lines, "files": [str(path) for path in (values, *drawn)]}
    last = f"{f'The figure is {drawn[0]}; every' if drawn else 'Every'} value is in {values}."
    tell(asked, content, [shown], [], last)


@command(without=("add", "plugin"), family=family, selection=RULE)
def severity(asked: Asked, digits: Digits = "mnist") -> None:
    """Measure accuracy on Colored-MNIST with more and more bad cells, wrong labels and missing rows.

    Three curves with confidence bands for ERM, IRM, RPO and a control show when data quality starts to matter and which
    method copes best. Accuracy is that on the test domain.

    [bold]Examples[/bold]

        rpo bench severity --digits sklearn

        rpo bench severity --profile paper --seeds 5
    """
    from rpo_lab import cmnist as study

    show(asked, [study.severity(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out, digits=digits)])


@command(without=("selection", "add", "plugin"), selection="formula", correction="holm")
def quality_weights(
    asked: Asked, kinds: Kinds = "all", noisy: Noisy = "all", methods: Methods = "all", first_seed: First = None
) -> None:
    """Compare quality weights with permuted and uniform ones: does it matter which rows count less?

    On Cigar and Wage with label noise in 10, 30 and 50 % of the cells (added before or after the confounders are built
    from the labels, or without confounders) and without noise; on Radon with counties held out; on coloured digits; and
    on settings that were kept for confirmation. 'quick' uses five seeds from development, 'paper' 30 fresh ones.

    [bold]Examples[/bold]

        rpo bench quality-weights --kinds plain --noisy 50

        rpo bench quality-weights --kinds before,plain --methods main --profile paper --out out/quality-weights
    """
    from rpo_lab import quality_weights as study

    views = study.quality_weights(
        asked.profile, seeds=asked.seeds, first_seed=first_seed, kinds=kinds, noisy=noisy, methods=methods
    )
    show(asked, views)


@command(without=("selection", "correction", "add", "plugin"))
def readings(asked: Asked) -> None:
    """Run Colored-MNIST as the paper may have meant it: in which share of readings is RPO better, and than what?

    A reading fills in what the paper does not say: whether test labels are turned, before or after colouring, how many
    rows bad cells keep, which cells are bad, how long is trained, in which form and by which rule. They are run on
    the small digits by RPO, its halves, its controls and IRM + lip. 'quick' has twelve readings and three seeds,
    'paper' 72 and ten: a half of all combinations, in which every two choices occur together. The same command
    continues an interrupted study.

    [bold]Examples[/bold]

        rpo bench readings

        rpo bench readings --profile paper --page docs/results/readings.md --figures docs/figures/readings
    """
    from rich.table import Table

    from rpo._io import write_whole
    from rpo_lab import readings as study
    from rpo_lab.runner.drawing import save

    plan = study.readings(asked.profile, seeds=asked.seeds)
    records = do(asked, plan.runs())
    if records is None:
        return
    comparisons = plan.compared(records)
    drawn = save(study.figure_of(comparisons), asked.drawings, "readings")
    values = (asked.folder if asked.page is None else asked.page.parent / "tables") / "readings.csv"
    write_whole(values, study.to_csv(plan, comparisons))
    if asked.page is not None:
        study.put_on_page(asked.page, plan, comparisons, asked.command, drawn[-1], values)
    tallies = study.tallies(comparisons)
    shown = Table("", *next(iter(tallies.values())), title="Number of readings, compared by accuracy")
    shown.title_justify = "left"
    for rival, counts in tallies.items():
        shown.add_row(rival, *map(str, counts.values()))
    lines = study.answer(comparisons)
    content = {
        "summary": lines,
        "comparisons": [asdict(pair) | {"reading": dict(pair.reading)} for pair in comparisons],
        "files": [str(path) for path in (*drawn, values)],
    }
    tell(asked, content, [shown], lines, f"\nThe figure is {drawn[0]}; every comparison is in {values}.")


@command(without=("selection", "correction", "add", "plugin"))
def real(asked: Asked, tables: Tables = "", frozen: Frozen = "") -> None:
    """Compare learners on real tables with whole domains held out: when does data quality matter?

    Compared are stock learners, peers, our networks, and Quality models with their controls. 'quick' runs four learners
    on eight tables, as they are and with 30 % of the domains corrupted; 'paper' runs everything, limited to about two
    hours on two cores; 'full' has no limit. `rpo data get tables` downloads the tables, and `pip install 'rpo[real]'`
    installs the peers; those that are not installed are named. The same command continues an interrupted run.

    [bold]Examples[/bold]

        rpo bench real --tables exam,scots

        rpo bench real --profile paper --page docs/results/real.md --figures docs/figures/real
    """
    from rpo_lab.real import page
    from rpo_lab.real.results import make_results
    from rpo_lab.real.study import real_study
    from rpo_lab.real.words import answer
    from rpo_lab.runner.store import read_file

    among = None if asked.records is None else read_file(asked.records)[0]
    study = real_study(asked.profile, [name for name in tables.split(",") if name], asked.seeds, among=among)
    for name, library in study.missing.items():
        why = f"{library} is not installed (pip install 'rpo[real]')" if among is None else "it is not in the records"
        typer.echo(f"{name} is left out: {why}.", err=True)
    records = do(asked, list(study.runs.values()))
    if records is None:
        return
    results = make_results(study, records)
    written = page.write(results, asked.command, asked.folder, asked.drawings, asked.page, frozen)
    content = {
        "summary": results.summary.to_dict("records"),
        "gains": results.gains.to_dict("records"),
        "detection": results.detection.to_dict("records"),
        "not installed": study.missing,
        "files": [str(path) for path in written],
    }
    last = f"\nThe figure is {written[0]}, the page {written[-1]}; records are in {asked.folder}."
    tell(asked, content, page.terminal_tables(results), answer(results), last)
