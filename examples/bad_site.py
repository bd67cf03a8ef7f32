"""Find the site whose labels are noisy, and the rows to look at first.

A synthetic table with four sites and six age groups. One site is noisy in all age groups, two age groups are noisy in
all sites, and the target of another site is shifted, which is a difference in level and not noise.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import rpo


def main(folder: Path = Path("out")) -> None:
    """Print the findings and the worst of everything; draw the heat map."""
    data = rpo.datasets.make_uneven(seed=1, bad_domain=1, bad_strata=(1, 4), spurious=False)
    frame = pd.DataFrame(data.X[:, :4], columns=["age group", "dose", "weight", "shoe size"])
    frame["site"] = np.array(["Aarhus", "Basel", "Cork", "Dijon"])[data.domains]
    frame["response"] = data.y + 1.5 * (frame["site"] == "Dijon")

    found = rpo.quality(frame, target="response", domain="site")
    print("What to do first:", *found.summary, sep="\n- ")
    columns = ["domain", "n", "offset", "noise", "low", "high", "noisy"]
    print(f"\nSites, noisiest first:\n{found.domains[columns].round(2).to_string(index=False)}")
    rows = found.rows[["row", "domain", "target", "expected", "times"]].head(3)
    print(f"\nRows to look at first:\n{rows.round(1).to_string(index=False)}")

    folder.mkdir(parents=True, exist_ok=True)
    found.figure().savefig(folder / "bad_site.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
