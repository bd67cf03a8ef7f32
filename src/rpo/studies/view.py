"""How a study is shown: which rules, under which name and title, beside which quoted figures, in which words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rpo.studies.figures import save, write_figure
from rpo.studies.records import Record
from rpo.studies.results import Correction, Results, make_results
from rpo.studies.selection import RULES, Rule, get_rule
from rpo.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class View:
    """A study with all that its results, figure and page need besides the records."""

    name: str
    """Of the files, and of the marks in a page."""
    study: Study
    title: str
    words: Callable[[Results], list[str]]
    printed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Columns to quote."""
    rule: str | None = None
    """A rule of its own, whichever is asked for."""
    figure: "Callable[[Results], Figure] | None" = None
    """How the results are drawn, if not as bars or dots."""

    def draw(self, results: Results, folder: Path) -> list[Path]:
        """The figure as PNG and SVG; the paths."""
        if self.figure is None:
            return write_figure(results, folder, self.name)
        return save(self.figure(results), folder, self.name)

    def by_rule(self, records: Mapping[str, Record], rule: Rule, correction: Correction) -> list[Results]:
        """The results under the rule asked for, then under every other; one alone if the view has a rule of its own."""
        first = rule if self.rule is None else get_rule(self.rule)
        others = [other for other in RULES.values() if other is not first and self.rule is None]
        return [
            make_results(self.study, records, rule, title=self.title, correction=correction, printed=self.printed)
            for rule in (first, *others)
            if self.study.leave_one_out or rule.name != "leave-one-out"
        ]
