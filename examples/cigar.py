"""Train RPO on the Cigar panel and print which domains and strata are poor.

The 46 states fall into four regions by their tax climate, measured by the price of the cheapest neighbour: each region
is a domain. Strata are found by the library.
"""

import time

import pandas as pd
from rich.console import Console
from rich.table import Table

import rpo


def main() -> None:
    """Fit, print what is poor; then hold every region out in turn, beside plain ERM."""
    console = Console(width=110)
    cigar = rpo.datasets.load_cigar()
    mean_price = cigar.frame.groupby("state")["pimin"].transform("mean")
    region = pd.qcut(mean_price, 4, labels=["cheap", "middling", "dear", "dearest"]).astype(str).to_numpy()
    console.print(f"Cigar: {len(cigar.y)} rows, target {cigar.target}, four regions.")
    start = time.perf_counter()
    model = rpo.RPORegressor().fit(cigar.X, cigar.y, domains=region)
    console.print(f"RPO trained in {time.perf_counter() - start:.1f} s (two stages, noise cross-fitted).\n")

    console.print(_table("The ten poorest cells, worst first (noise in packs per head)", model.quality_.head(10)))
    cells = model.quality_.assign(square=lambda q: q["n"] * q["noise"] ** 2).groupby("domain")[["n", "square"]].sum()
    noise = (cells["square"] / cells["n"]).pow(0.5).rename("noise").sort_values(ascending=False).reset_index()
    console.print(_table("Domains, noisiest first", noise))

    scores = []
    for name in pd.unique(region):
        seen = region != name
        score = {"region held out": name}
        for label, method in (("RPO", rpo.RPORegressor()), ("plain ERM", rpo.DomainRegressor("erm-l2"))):
            method.fit(cigar.X[seen], cigar.y[seen], domains=region[seen])
            score[label] = round(method.score(cigar.X[~seen], cigar.y[~seen]), 3)
        scores.append(score)
    console.print(_table("R² in an unseen region (one seed)", pd.DataFrame(scores)))
    console.print("Below zero is worse than the mean of that region: four regions that really differ are hard.")


def _table(title: str, frame: pd.DataFrame) -> Table:
    table = Table(title=title, title_justify="left")
    for column in frame.columns:
        table.add_column(str(column), justify="right" if pd.api.types.is_numeric_dtype(frame[column]) else "left")
    for values in frame.itertuples(index=False):
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in values))
    return table


if __name__ == "__main__":
    main()
