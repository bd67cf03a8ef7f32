"""Judge the quality of the Radon table, 85 counties of which some have one home, and write its page."""

from pathlib import Path

import rpo
from rpo.report import write_report


def main() -> None:
    """A few sentences here, the rest on the page."""
    radon = rpo.datasets.load_radon()
    frame = radon.frame[[*radon.features, radon.target, str(radon.domain)]]
    found = rpo.quality(frame, target=radon.target, domain=radon.domain)
    page = Path("out/radon.html")
    page.parent.mkdir(exist_ok=True)
    write_report(found, page, title="Radon in Minnesota")
    print(f"Radon: {' '.join(found.summary)}\nThe data-quality page: {page}")


if __name__ == "__main__":
    main()
