"""How the code reads: first words of docstrings, and names that are participles or pronouns, room by room.

    python -m benchmarks.words

A docstring of a function or method, properties aside, should begin with a verb in the imperative: "Return", "Compute",
"Check". Counted are those that begin with an article, a question word, a noun, a participle or a formula instead; and
the assignments to names that say nothing of what they hold. `methods/`, whose formulas come first on purpose, and
`_judging` are left out of the last line.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

SOURCES = Path(__file__).resolve().parents[1] / "src" / "rpo"
ASIDE = ("methods", "_judging")
NAMES = ("found", "one", "some", "said", "told", "asked")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef

# First words that are no verbs: articles and other determiners, pronouns, question words, prepositions, adverbs.
FUNCTION_WORDS = """
    a an the this that these those every each all any some no none both either neither many more most much few fewer
    other another one two three first last least less same such own several it its they their he his we our you your
    anything everything nothing something nobody somebody everybody everyone itself
    what which who whose whom where when why how whether whatever whichever whoever wherever whenever
    about above across after against along among around as at before behind below beside besides between beyond by
    down during for from in inside into like near of off on once onto out outside over per since so through to together
    toward towards under until up upon with within without
    also always and but even if long never not often only or otherwise rather soon still than then there though
    twice unless while yes yet whole linear noisy usual integer given held-out
"""
# Nouns that docstrings of this package began with, or are likely to begin with.
NOUNS = """
    adam algorithm anchor animal argument arithmetic array attention axis band base binary body by-product card cell
    chance cigar cigarette class code coefficient column command comparison condition constant content cost coverage
    data date decision default degree description deviation device dictionary difference digest dimension distance
    domain dropout effect entropy entry equal error evidence example excess expectation factor feature figure file
    finding fingerprint folder fraction function gradient half help indicator information input instance interval
    item kind label largest law layer learner left length level likelihood loss lowest markdown mass matrix maximum
    median message method middle minimum model module moment network newton noise norm number numpy object odds
    offset option output package page parameter path penalty percentile piece posterior prediction prior probability
    proportion proposition quality quantile radius radon random ratio reason region relation result ridge risk root
    row rpo schema second sentence series sha-256 side sigterm sixteen size slope smallest source standard statistic
    strata stratum string task tensor term text theorem threshold tile time total tuple type uniform unit validation
    value variance vector version welch width word worst zero
"""
# Nouns that are verbs, too: these are taken for verbs unless a word follows that goes with nouns, as in "Sum of ...".
VERBS_TOO = """
    average batch block box bound cause change cluster copy count cut draw estimate fold form format frame group guess
    handle hash head index limit line list look map mark mean measure name need offer open order pair part place plan
    point range rank rate round rule sample scale score set shape shift show sign sort split square start state step
    stop sum support table target turn use view wait weight work
"""
# Verbs that end like a plural, a participle or a gerund.
VERBS = """
    access address bring compress discuss dismiss embed exceed express feed focus miss need pass precess press proceed
    process regress speed suppress
"""
NO_VERBS, BOTH, IRREGULAR = frozenset((FUNCTION_WORDS + NOUNS).split()), frozenset(VERBS_TOO.split()), VERBS.split()
AFTER_NOUNS = frozenset("of and or that who in on to by with is are was".split())  # noqa: SIM905


def main() -> None:
    """Print the share of first words that are no verbs, and the count of unclear names, by room and in total."""
    table = Table("room", "docstrings", "no verb", "share", "unclear names")
    counts = {room: count_words(room) for room in rooms()}
    for room, count in counts.items():
        table.add_row(*as_cells(room, count))
    table.add_section()
    rest = (count for room, count in counts.items() if room not in ASIDE)
    table.add_row(*as_cells("all", sum(counts.values(), Counter())))
    table.add_row(*as_cells(f"without {' and '.join(ASIDE)}", sum(rest, Counter())))
    Console().print(table)


def rooms() -> list[str]:
    """Return the packages and modules at the top of `rpo`, by name."""
    return sorted(path.name for path in SOURCES.iterdir() if path.suffix == ".py" or any(path.glob("*.py")))


def count_words(room: str) -> Counter[str]:
    """Count docstrings of functions, those whose first word is no verb, and unclear names of one room."""
    top = SOURCES / room
    counts: Counter[str] = Counter()
    for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        words = list(first_words(tree))
        counts["docstrings"] += len(words)
        counts["no verb"] += sum(not is_verb(*pair) for pair in words)
        counts["unclear names"] += sum(isinstance(name.ctx, ast.Store) and name.id in NAMES for name in names(tree))
    return counts


def first_words(tree: ast.AST) -> Iterator[list[str]]:
    """Yield the first two words of the docstring of each function and method that has one, properties aside."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION) and not is_property(node) and (text := ast.get_docstring(node)):
            yield text.split()[:2]


def is_property(function: FUNCTION) -> bool:
    """Return whether a decorator of the function makes it a property.

    >>> is_property(ast.parse("@cached_property\\ndef width(self): ...").body[0])
    True
    """
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def is_verb(word: str, following: str = "") -> bool:
    """Return whether a first word may be a verb in the imperative; what is no word, such as a formula, is none.

    >>> [is_verb(word) for word in ("Return", "Pass", "Rows", "The", "η_e", "Called", "`fit`", "Whether")]
    [True, True, False, False, False, False, False, False]
    >>> is_verb("Sum", "values"), is_verb("Sum", "of"), is_verb("Weight,", "a")
    (True, False, False)
    """
    name = word.rstrip(",.:;").lower()
    if not re.fullmatch(r"[A-Z][a-z]+(-[a-z]+)*[,.:;]?", word) or name in NO_VERBS:
        return False
    if name in BOTH:
        return name == word.lower() and following not in AFTER_NOUNS
    return name in IRREGULAR or not name.endswith(("s", "ed", "ing"))


def names(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield every plain name that a module reads or assigns to."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def as_cells(room: str, count: Counter[str]) -> list[str]:
    """Return the cells of one line of the table."""
    share = count["no verb"] / max(1, count["docstrings"])
    return [room, str(count["docstrings"]), str(count["no verb"]), f"{share:.0%}", str(count["unclear names"])]


if __name__ == "__main__":
    main()
