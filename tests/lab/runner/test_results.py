"""Tables from hand-made records: every figure in them can be checked by head."""

import csv
import io
import json
from dataclasses import replace

import pytest
from scipy import stats

from rpo.exceptions import InputError
from rpo_lab.runner.render import to_csv, to_html, to_json, to_markdown, to_rich
from rpo_lab.runner.results import check_correction, make_results
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.store import Measured, Record

# By row and seed; ERM's two candidates have the validation risks of the same order.
MSE = {"ERM": (10.0, 11.0, 12.5), "IRM": (3.0, 3.1, 3.5), "RPO": (2.0, 3.0, 4.0), "mean": (1.0, 1.01, 1.02)}


@pytest.fixture
def study(small):
    return replace(small.study(seeds=3), settings=small.study().settings[:1])


@pytest.fixture
def records(study):
    found = {}
    for row, setting in study.cells():
        for seed in study.seeds:
            for place, run in enumerate(study.candidates(row, setting, seed)):
                mse = MSE[row.label][seed] + 100 * place
                measured = Measured(
                    validation_risk=[1.0 + place] * 3, validation_irm=[2.0 - place] * 3, test={"test": {"mse": mse}}
                )
                found[run.digest] = Record(run=run, status="done", measured=measured, seconds=1, versions={"rpo": "9"})
    return found


def table_of(study, records, rule="validation", **options):
    return make_results(study, records, get_rule(rule), title="Small", **options)


def test_cells_are_the_chosen_values_compared_with_the_reference(study, records):
    table = table_of(study, records)
    cell = table.cell("ERM", "Cigar clean")
    assert tuple(cell.values.values()) == MSE["ERM"]
    assert cell.p == pytest.approx(stats.ttest_ind(MSE["ERM"], MSE["RPO"], equal_var=False).pvalue)
    assert cell.marks == "***"
    assert cell.picked == "c=0.001 ×3"
    assert cell.validation_risk == 1.0
    assert table.cell("IRM", "Cigar clean").marks == ""
    assert table.cell("RPO", "Cigar clean").comparison is None
    assert table.best(study.settings[0]) == "RPO"  # the mean is better but does not compete


def test_rows_better_than_the_reference_get_no_stars(study, records):
    cell = table_of(study, records).cell("mean", "Cigar clean")
    p = stats.ttest_ind(MSE["mean"], MSE["RPO"], equal_var=False).pvalue
    assert 0.05 < p < 0.1
    assert cell.marks == "+"


def test_another_rule_reads_other_values_from_the_same_records(study, records):
    table = table_of(study, records, "irm")
    assert table.cell("ERM", "Cigar clean").mean == pytest.approx(100 + sum(MSE["ERM"]) / 3)
    assert "smallest mean IRM penalty" in dict(table.protocol)["selection"]
    assert "ORACLE" in to_csv(table_of(study, records, "oracle"))


def test_holm_raises_p_within_a_column(study, records):
    plain, corrected = (table_of(study, records, correction=c) for c in ("none", "holm"))
    p, q = (t.cell("ERM", "Cigar clean").p for t in (plain, corrected))
    assert q == pytest.approx(3 * p)
    assert corrected.cell("ERM", "Cigar clean").comparison.p == p
    assert "Holm" in dict(corrected.protocol)["significance"]
    with pytest.raises(InputError, match="'none' or 'holm'"):
        check_correction("bonferroni")


def test_failed_seeds_are_counted_and_their_reason_is_kept(study, records):
    run = study.candidates(study.rows[1], study.settings[0], 1)[0]
    failed = Record(run=run, status="failed", reason="it blew up", seconds=1, versions={"rpo": "9"})
    table = table_of(study, records | {run.digest: failed})
    assert table.cell("IRM", "Cigar clean").failed == ("it blew up",)
    assert "(2 of 3 seeds)" in to_markdown(table)
    assert "it blew up" in to_csv(table)
    assert "it blew up" in to_html(table)
    assert dict(table.protocol)["runs"] == "15, 1 failed"


PROTOCOL = ("seeds 0–2", "validation rows", "ERM: c {0.001, 0.01}", "IRM: mean; RPO: sum, paper", "rpo 9", "Welch")


@pytest.mark.parametrize("form", [to_csv, to_html, to_markdown])
def test_every_form_has_the_values_and_the_protocol(study, records, form):
    text = form(table_of(study, records, printed={"printed": {"RPO": "4.35 ± 0.33", "ERM": "9.00 ± 1.00***"}}))
    for words in PROTOCOL:
        assert words in text, words
    assert "3.20" in text or "3.2," in text  # the mean of IRM
    if form is not to_csv:
        assert "4.35" in text


def test_rich_shows_the_same(study, records):
    from rich.console import Console

    console = Console(width=200, file=io.StringIO())
    console.print(to_rich(table_of(study, records)))
    text = console.file.getvalue()
    for words in ("11.17 ± 1.26***", "1.01 ± 0.01+", *PROTOCOL):
        assert words in text, words


def test_csv_has_every_seed_and_both_p(study, records):
    lines = [line for line in to_csv(table_of(study, records)).splitlines() if not line.startswith("#")]
    row = next(line for line in csv.DictReader(lines) if line["row"] == "ERM")
    assert row["values"] == "0: 10; 1: 11; 2: 12.5"
    assert float(row["p_paired"]) == pytest.approx(stats.ttest_rel(MSE["ERM"], MSE["RPO"]).pvalue, rel=1e-3)
    assert float(row["difference"]) == pytest.approx(8.1667)
    found = json.loads(json.dumps(to_json(table_of(study, records)), allow_nan=False))
    assert found["cells"][0]["values"] == {"0": 10.0, "1": 11.0, "2": 12.5}
