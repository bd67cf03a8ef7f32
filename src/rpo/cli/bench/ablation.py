"""`rpo bench ablation`: RPO against its two halves."""

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


def ablation(
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
    """RPO, RPO-Pen (its penalties by domain alone) and RPO-Lip (by stratum alone), beside the paper's figures.

    On settings 1 (Bad Domain) and 7 (Bad Group) of Colored-MNIST, tuned alike
    and to the paper's letter. Its runs are among those of `rpo bench cmnist`
    and are taken from there if they are done.

    [bold]Examples[/bold]

        rpo bench ablation --digits sklearn

        rpo bench ablation --profile paper
    """
    from rpo.experiments import ablation as study

    asked = asked_of(
        "ablation",
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
    show(asked, study.ablation(profile, seeds=seeds, leave_one_out=asked.leave_one_out, digits=digits))
