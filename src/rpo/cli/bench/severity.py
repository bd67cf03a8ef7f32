"""`rpo bench severity`: accuracy as the corruption grows."""

from rpo.cli.bench.cmnist import RULE, Digits, asked_of
from rpo.cli.bench.shared import (
    Cluster,
    Correction,
    DryRun,
    Figures,
    Jobs,
    Json,
    Out,
    Page,
    Profile,
    Seeds,
    Selection,
    show,
)


def severity(
    digits: Digits = "mnist",
    profile: Profile = "quick",
    seeds: Seeds = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Out = None,
    selection: Selection = RULE,
    correction: Correction = "none",
    dry_run: DryRun = False,
    figures: Figures = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Out-of-domain accuracy on Colored-MNIST as more cells are bad, more labels are turned, and fewer rows are kept.

    Three curves with confidence bands for ERM, IRM, RPO and a control: when
    data quality starts to matter, and which method holds.

    [bold]Examples[/bold]

        rpo bench severity --digits sklearn

        rpo bench severity --profile paper --seeds 5
    """
    from rpo.experiments import severity as study

    asked = asked_of(
        "severity",
        {"--digits": (digits, "mnist")},
        digits,
        profile=profile,
        seeds=seeds,
        jobs=jobs,
        cluster=cluster,
        out=out,
        selection=selection,
        correction=correction,
        dry_run=dry_run,
        figures=figures,
        page=page,
        as_json=as_json,
    )
    made = study.severity(profile, seeds=seeds, leave_one_out=asked.leave_one_out, digits=digits)
    show(asked, [study.view(made)])
