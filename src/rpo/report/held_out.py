"""Performance on held-out domains, if methods were compared."""

from typing import TYPE_CHECKING, Any

from rpo.studies.verdict import OURS, PLAIN

if TYPE_CHECKING:
    from rpo.studies.comparison import Comparison

MOST_DOMAINS, MOST_METHODS = 100, 6


def section(comparison: "Comparison", shorter: int) -> dict[str, Any]:
    """The verdict, the methods, and the error on each domain of the best few."""
    best = comparison.methods["method"].tolist()
    shown = list(dict.fromkeys([OURS, PLAIN, *best]))[:MOST_METHODS]
    table = comparison.domains[["domain", "n", *shown]]
    return {
        "kind": "held_out",
        "id": "held_out",
        "title": "On domains never seen",
        "verdict": comparison.verdict,
        "methods": comparison.methods.to_dict("records"),
        "names": shown,
        "rows": table.head(MOST_DOMAINS // shorter).to_dict("records"),
        "left": max(0, len(table) - MOST_DOMAINS // shorter),
        "protocol": comparison.protocol,
    }
