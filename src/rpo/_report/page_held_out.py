"""The section on held-out domains, if methods were compared."""

from typing import Any, Protocol

import pandas as pd

QUALITY = "quality"
MOST_DOMAINS, MOST_METHODS = 100, 6


class HeldOut(Protocol):
    """Attributes of a comparison of methods (`rpo.compare`) that the page shows."""

    @property
    def methods(self) -> pd.DataFrame:
        """A row for each method, best first."""

    @property
    def domains(self) -> pd.DataFrame:
        """A row for each held-out domain, a column for each method."""

    @property
    def verdict(self) -> str:
        """The verdict, in plain words."""

    @property
    def protocol(self) -> tuple[str, ...]:
        """How the error was measured."""


def section(comparison: HeldOut, shorter: int) -> dict[str, Any]:
    """Build the section: verdict, methods, and the error of the best few on each domain."""
    best = comparison.methods["method"].tolist()
    shown = list(dict.fromkeys([QUALITY, *best]))[:MOST_METHODS]
    table = comparison.domains[["domain", "n", *shown]]
    return {
        "kind": "held_out",
        "id": "held_out",
        "title": "Methods on unseen domains",
        "verdict": comparison.verdict,
        "methods": comparison.methods.to_dict("records"),
        "names": shown,
        "rows": table.head(MOST_DOMAINS // shorter).to_dict("records"),
        "left": max(0, len(table) - MOST_DOMAINS // shorter),
        "protocol": comparison.protocol,
    }
