"""Judge a table, fit a model, estimate its error in unseen counties, and write the data-quality page.

The data are radon levels in 919 homes in 85 counties of Minnesota. Counties are the domains; many have few homes. The
expected error is measured on held-out counties.
"""

from pathlib import Path

from matplotlib.figure import Figure

import rpo


def main(folder: Path = Path("out")) -> None:
    """Fit a model, which also judges the table; print a summary and write the page."""
    radon = rpo.datasets.load_radon()
    frame = radon.frame
    model = rpo.QualityRegressor().fit(frame[[*radon.features]], frame[radon.target], domains=frame[radon.domain])
    assert model.quality_ is not None
    print(f"Radon: {len(frame)} homes, {len(model.domains_)} counties, target {radon.target}.\n")
    print("The data:", *model.quality_.summary, sep="\n- ")
    print("\nThe model:", *model.summary_, sep="\n- ")
    expected = model.expected_error_.rename(index={"quality": "this model"})
    print(f"\nRoot mean squared error in an unseen county:\n{expected.round(3).to_string()}")
    folder.mkdir(parents=True, exist_ok=True)
    model.report(folder / "radon.html", title="Radon in Minnesota")
    print(f"\nThe data-quality page: {folder / 'radon.html'}")

    figure = Figure(figsize=(6, 2.4), layout="constrained")
    axes = figure.subplots()
    axes.barh(expected.index, expected["error"], xerr=expected["spread"], color=["tab:blue", "0.75", "0.75", "0.75"])
    axes.plot(expected["worst"], expected.index, "k|", label="worst county")
    axes.invert_yaxis()
    axes.set_xlabel("error in an unseen county (lines: spread over counties)")
    axes.legend(fontsize="small", loc="lower right")
    figure.savefig(folder / "radon.png", dpi=120)


if __name__ == "__main__":
    main()
