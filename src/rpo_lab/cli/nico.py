"""`rpo bench nico`: animal or vehicle on NICO, or on the photos that stand in for it."""

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpo.exceptions import InputError
from rpo_lab.cli.shared import Asked, command, do, show

if TYPE_CHECKING:
    from rpo_lab.data.pictures import Album
    from rpo_lab.runner.specification import DataSpec, Run


@command(family=lambda own: "photos" if own["photos"] else "nico")
def nico(
    asked: Asked,
    root: Annotated[Path | None, typer.Option(help="Folder that contains NICO, in any of its layouts.")] = None,
    photos: Annotated[
        bool, typer.Option("--photos", help="Use photos of CIFAR-10 (`rpo data get photos`) instead of NICO.")
    ] = False,
    lists: Annotated[
        Path | None, typer.Option(help="Folder with NICO's published lists of domains. (default: our own rule)")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="With --photos: folder that contains CIFAR-10. (default: the cache)")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Rows per training domain; the test set has a quarter of that. (default: as published)"),
    ] = None,
    backbone: Annotated[
        str, typer.Option(help="Frozen network that computes the features: lite0, or package.module:name.")
    ] = "lite0",
) -> None:
    """Compare accuracy and AUC on photos whose label depends on their context, with uneven quality (setting 13).

    Features of a frozen backbone are computed once and cached. Every method trains an MLP on them, as the paper does
    and with equal tuning for all; a few also train a small network on the pixels. 'quick' takes about ten minutes on
    two cores; 'paper' uses ten seeds. The same command continues an interrupted study.

    [bold]Examples[/bold]

        rpo data get photos && rpo bench nico --photos

        rpo bench nico --root NICO --lists nico_splits --profile paper

        rpo bench nico --root NICO --backbone mynets:resnet
    """
    from rpo_lab import nico as study
    from rpo_lab.runner.selection import get_rule

    data = _data(root, photos, lists, folder, backbone)
    if rows is not None:
        data = study.with_options(data, rows=rows, test_rows=rows // 4)
    views = [
        *study.heads(data, asked.profile, asked.seeds, leave_one_out=asked.leave_one_out),
        study.through(data, asked.profile, asked.seeds),
    ]
    get_rule(asked.selection)  # a word that is none is noticed before the pictures are looked at
    album = None
    if asked.records is None:  # which need no pictures
        album = _album(root, folder)
        _extract(album, backbone)
    show(asked, views, also=_ladder(asked, data, album) if photos else ())


def _data(root: Path | None, photos: bool, lists: Path | None, folder: Path | None, backbone: str) -> "DataSpec":
    """Return the data of all studies."""
    from rpo_lab.runner.specification import DataSpec

    if photos == (root is not None):
        raise InputError("give either --root with the folder of NICO, or --photos to use CIFAR-10")
    if (photos and lists is not None) or (root is not None and folder is not None):
        raise InputError("--lists requires --root, and --folder requires --photos")
    paths = {"folder": folder} if photos else {"root": root, "lists": lists}
    known = {name: str(path.absolute()) for name, path in paths.items() if path is not None}
    return DataSpec(name="photos" if photos else "nico", options={**known, "backbone": backbone})


def _album(root: Path | None, folder: Path | None) -> "Album":
    """Return the pictures that the data are drawn from."""
    from rpo_lab.data.nico import HOMES, nico_album
    from rpo_lab.data.photos import PER_CELL, photo_album

    if root is None:
        return photo_album(folder, PER_CELL)
    album = nico_album(root, [*HOMES[0], *HOMES[1]])
    for line in album.notes():
        typer.echo(f"Left out: {line}", err=True)
    return album


def _extract(album: "Album", backbone: str) -> None:
    """Compute all features, here and with a bar, before workers ask for them."""
    from rpo_lab.features import extract

    extract(album, backbone=backbone, say=lambda line: typer.echo(line, err=True))


def _ladder(asked: Asked, data: "DataSpec", album: "Album | None") -> "list[Run]":
    """Show whether ERM falls as the stand-in wants it to, and what contexts look like, if there are pictures.

    Return the runs of the former.
    """
    from rpo._io import write_whole
    from rpo_lab.data.photos import draw_contexts
    from rpo_lab.nico import ladder_lines, ladders
    from rpo_lab.runner.page import link, put

    studies = ladders(asked.profile, asked.seeds, data)
    runs = [run for study in studies.values() for run in study.runs()]
    records = do(replace(asked, records_out=None), runs)  # written with all others
    if records is None:
        return runs
    lines = ladder_lines(studies, records)
    if album is not None:
        picture = (asked.figures or asked.folder) / "photos-contexts.jpg"
        content = io.BytesIO()
        # Photos: a third of the size of a PNG.
        draw_contexts(album).savefig(content, format="jpeg", dpi=100, pil_kwargs={"quality": 85})
        write_whole(picture, content.getvalue())
        if asked.page is not None:
            put(asked.page, "photos-contexts", f"![Kinds and contexts]({link(picture, asked.page)})")
    if asked.page is not None:
        put(asked.page, "photos-tie", "\n".join([f"Made by `{asked.command}`.", "", *lines]))
    if not asked.as_json:
        typer.echo("Accuracy of ERM as the tie to the background grows (the last is the default):\n")
        typer.echo("\n".join(lines) + "\n")
    return runs
