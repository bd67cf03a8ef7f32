"""The numbers of docs/theory.md and docs/best-penalties.md are those of the command."""

import re
from pathlib import Path

import pytest

from rpo_lab.theory import problems
from rpo_lab.theory.compare import eta_rows, groups_differ, lambda_rows, rho_rows, theorem_rows

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("theory.md", "best-penalties.md"))


def cells(heading: str, problem: str) -> list[list[str]]:
    """The rows of a problem in the first table after a heading whose rows begin with its name."""
    section = PAGE[PAGE.index(heading) :]
    rows = re.findall(rf"^\| {problem} \|(.*)\|$", section.split("\n## ")[0], flags=re.MULTILINE)
    return [[cell.strip().replace("−", "-") for cell in row.split("|")] for row in rows]


def percent(cell: str) -> float:
    return float(cell.removesuffix(" %")) / 100


@pytest.mark.parametrize("name", ["cosine", "tilted", "cosine-two-domains", "tilted-two-domains", "bad-second-domain"])
def test_theorem_table(name: str) -> None:
    for shown, lam in zip(cells("## Does Theorem 1 hold?", name)[:2], (1e-4, 1e-3), strict=True):
        bias2, variance, _ = theorem_rows(problems.get(name), 1.0, lam, repetitions=2)
        measured = [
            bias2["printed_error"],
            bias2["corrected_error"],
            variance["printed_error"],
            variance["corrected_error"],
        ]
        assert [percent(cell) for cell in shown[1:5]] == pytest.approx(measured, abs=0.0006)


@pytest.mark.parametrize("name", [name for name in problems.names() if name != "constant"])
def test_lambda_table(name: str) -> None:
    (shown,) = cells("## The best λ", name)
    (row,) = lambda_rows(problems.get(name))
    assert [f"{value:.2e}" for value in (row["printed"], row["derived"], row["best"])] == shown[:3]
    assert percent(shown[3]) == pytest.approx(row["printed_excess"], abs=0.006)
    assert percent(shown[4]) == pytest.approx(row["derived_excess"], abs=0.0006)
    assert float(shown[5]) == pytest.approx(row["slope"], abs=0.0006)


@pytest.mark.parametrize("name", [name for name in problems.names() if groups_differ(problems.get(name))])
def test_rho_table(name: str) -> None:
    (shown,) = cells("## The best ρ", name)
    rows = {row["scheme"]: row["change"] for row in rho_rows(problems.get(name), repetitions=2)}
    order = ["printed, integral", "derived, integral", "numerical, integral", "printed, sample", "derived, sample"]
    assert [percent(cell) for cell in shown] == pytest.approx([rows[scheme] for scheme in order], abs=0.0006)


@pytest.mark.parametrize("name", [name for name in problems.names() if problems.get(name).domains > 1])
def test_eta_table(name: str) -> None:
    (shown,) = cells("## The best η", name)
    changes = [row["change"] for row in eta_rows(problems.get(name), repetitions=2)]
    assert [percent(cell.split(" (")[0]) for cell in shown] == pytest.approx(changes, abs=0.0006)


def test_every_figure_is_there() -> None:
    links = re.findall(r"\]\((figures/[^)]+)\)", PAGE)
    assert len(links) >= 6
    for link in links:
        assert (DOCS / link).is_file()
