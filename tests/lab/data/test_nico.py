"""NICO's folder in three layouts, with every known quirk; lists; what is refused; pictures apart by their content."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import trees
from trees import LAYOUTS, QUIRKS

from rpo.exceptions import InputError
from rpo_lab.data import nico as module
from rpo_lab.data.nico import nico, nico_album

SMALL = {"rows": 40, "test_rows": 20, "ties": (0.8, 0.7), "test_tie": 0.2}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))


def table(album):
    return [
        (album.label[i], album.kinds[album.kind[i]], album.contexts[album.context[i]], album.names[i], album.digest[i])
        for i in range(len(album))
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_loads_to_the_same_table_and_names_what_it_leaves_out(tmp_path, layout):
    plain = nico_album(trees.tree(tmp_path / "plain", "images", quirks=False))
    album = nico_album(trees.tree(tmp_path / layout, layout))
    assert table(album) == table(plain)
    assert len(album) == 6 * 5 * 4
    assert "eating" in album.contexts
    left_out = {Path(s.name).name.lower(): s.why for s in album.skipped}
    expected = {name: why for name, (_, why) in QUIRKS.items()} | {"thumbs.db": "misnamed", "readme.txt": "misnamed"}
    assert left_out == expected
    notes = "\n".join(album.notes())
    assert "3 misnamed: " in notes
    assert "1 truncated: " in notes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_domains_by_the_seeded_rule_are_the_same_in_every_layout(tmp_path, layout):
    root = trees.tree(tmp_path / layout, layout, each=8)
    data = nico(root, **SMALL, seed=3)
    again = nico(trees.tree(tmp_path / "other", "images", each=8), **SMALL, seed=3)
    np.testing.assert_array_equal(data.album.digest[data.picture], again.album.digest[again.picture])
    at_home = np.isin(data.album.context, [data.album.contexts.index(c) for c in ("in_forest", "on_grass")])
    follows = (at_home == (data.album.label == 0))[data.picture]
    assert [int(follows[data.domain == e].sum()) for e in range(3)] == [32, 28, 4]
    assert [(data.part == p).sum() for p in ("train", "validation", "test")] == [64, 16, 20]
    other = nico(root, **SMALL, seed=4)
    assert not np.array_equal(data.picture, other.picture)
    pixels = data.album.pixels(data.picture[:2], 7)
    assert pixels.shape == (2, 7, 7, 3)
    assert pixels.any()


def test_too_few_pictures_is_one_line(tmp_path):
    with pytest.raises(InputError, match="pictures of animals .* are needed and .* are left: ask for fewer rows"):
        nico(trees.tree(tmp_path / "a", "images"))


def parts_of(root):
    """All of the four contexts, by turns in two training lists, a validation and a test list."""
    names = list(nico_album(root, trees.CONTEXTS).names)
    turns = ("train1", "train2", "val", "test")
    return {turn: names[i::4] for i, turn in enumerate(turns)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lists_resolve_or_are_named(tmp_path, layout):
    root = trees.tree(tmp_path / layout, layout)
    parts = parts_of(root)
    folder = trees.lists(
        tmp_path / "lists", {**parts, "test": [*parts["test"], "bear/in_forest/91.jpg", "cat/on_snow/77.jpg"]}
    )
    data = nico(root, lists=folder)
    assert [s for s in data.skipped if "listed" in s.why] == [
        ("bear/in_forest/91.jpg", "listed in env_test.csv but truncated"),
        ("cat/on_snow/77.jpg", "listed in env_test.csv but missing"),
    ]
    names = np.array(data.album.names)[data.picture]
    assert sorted(names[data.part == "test"]) == sorted(parts["test"])
    assert sorted(names[data.part == "balanced"]) == sorted(parts["val"])
    for domain, part in enumerate(("train1", "train2")):
        assert sorted(names[data.domain == domain]) == sorted(parts[part])
        assert (data.part[data.domain == domain] == "validation").mean() == pytest.approx(0.2, abs=0.05)


def test_an_ending_that_differs_resolves_if_there_is_one_such_file(tmp_path):
    root = trees.tree(tmp_path / "a", "images")
    parts = parts_of(root)
    parts["test"] = [name.replace(".png", ".jpg") for name in parts["test"]]
    data = nico(root, lists=trees.lists(tmp_path / "lists", parts))
    assert not [s for s in data.skipped if "listed" in s.why]


def test_lists_that_are_none_of_this_folder(tmp_path):
    root = trees.tree(tmp_path / "a", "images")
    parts = parts_of(root)
    with pytest.raises(InputError, match="holds no list \\*val\\*.csv"):
        nico(root, lists=trees.lists(tmp_path / "one", {k: v for k, v in parts.items() if k != "val"}))
    with pytest.raises(InputError, match="env_val.csv lists no picture of this folder"):
        nico(root, lists=trees.lists(tmp_path / "two", {**parts, "val": ["rat/on_moon/1.jpg"]}))
    folder = trees.lists(tmp_path / "three", parts)
    (folder / "env_train1.csv").write_text("a heading\n")
    with pytest.raises(InputError, match=r"env_train1.csv, line 1: expected class\\context\\file, found 'a heading'"):
        nico(root, lists=folder)


def contents_by_part(data):
    """SHA-256 of the files themselves, read anew, by part and training domain."""
    return {
        key: {data.album.digest[p] for p in data.picture[(data.part == key[0]) & (data.domain == key[1])]}
        for key in set(zip(data.part.tolist(), data.domain.tolist(), strict=True))
    }


@pytest.mark.parametrize("by_lists", [False, True])
def test_no_content_is_in_two_parts_whatever_its_name(tmp_path, by_lists):
    """Every picture is there again under another name, some in another context, too."""
    root = trees.tree(tmp_path / "a", "images", each=8, quirks=False)
    for path in sorted(root.rglob("[0-7].*")):
        trees.write(path.with_name(f"copy{path.name}"), path.read_bytes())
    for path in sorted(root.rglob("on_snow/1.*")):
        trees.write(path.parent.with_name("on_grass") / f"copy-{path.name}", path.read_bytes())
    parts = parts_of(root)
    # The copies are listed for training where their originals are listed for the test.
    copies = [name.replace(name.rpartition("/")[2], f"copy{name.rpartition('/')[2]}") for name in parts["test"]]
    parts["train1"] = [*copies, *parts["train1"]]
    folder = trees.lists(tmp_path / "lists", parts)
    for seed in range(3):
        data = nico(root, lists=folder, seed=seed) if by_lists else nico(root, **SMALL, seed=seed)
        found = contents_by_part(data)
        assert sum(map(len, found.values())) == len(set().union(*found.values())) == len(data.picture)
        real = {hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*.*")}
        assert set().union(*found.values()) <= real
    copied = [path for path in root.rglob("copy*") if path.parent.name in trees.CONTEXTS]
    assert sum(s.why == "duplicate" for s in data.skipped) == len(copied)
    if by_lists:
        assert any(s.why == "listed in env_train1.csv but in a list already" for s in data.skipped)


def test_empty_files_bombs_and_links_out_are_refused_by_name(tmp_path):
    outside = tmp_path / "outside" / "secret.jpg"
    trees.write(outside, trees.picture(5))
    bad = {
        "no content": lambda at: trees.write(at, b""),
        "more pixels than any photo": lambda at: trees.write(at.with_suffix(".png"), trees.header_of(60_000, 60_000)),
        "leads out": lambda at: trees.link(outside, at),
    }
    for number, (words, make) in enumerate(bad.items()):
        root = trees.tree(tmp_path / str(number), "images", each=1, quirks=False)
        make(root / "vehicle/images/car/on_snow/666.jpg")
        with pytest.raises(InputError, match=rf"vehicle/images/car/on_snow/666\.(jpg|png) .*{words}"):
            nico_album(root)
    # A folder that is a link, and a chain of links.
    root = trees.tree(tmp_path / "chain", "plural", each=1, quirks=False)
    trees.link(outside.parent, root / "animals" / "bear" / "on sofa")
    with pytest.raises(InputError, match="animals/bear/on sofa leads out of the folder"):
        nico_album(root)
    root = trees.tree(tmp_path / "inside", "plural", each=1, quirks=False)
    trees.link(root / "animals/bear/on snow/0.jpg", root / "animals/bear/on snow/1.jpg")
    assert [s.why for s in nico_album(root).skipped] == ["duplicate"]


def test_many_refused_files_are_counted(tmp_path):
    root = trees.tree(tmp_path / "a", "images", each=1, quirks=False)
    for number in range(8):
        trees.write(root / "animal/images/dog/on_snow" / f"{100 + number}.jpg", b"")
    with pytest.raises(InputError, match="dog/on_snow/100.jpg .*; and 3 more files$"):
        nico_album(root)


def test_a_pipe_and_a_name_that_is_no_text_do_no_harm(tmp_path):
    root = trees.tree(tmp_path / "a", "images", each=1, quirks=False)
    here = root / "animal/images/cat/on_snow"
    os.mkfifo(here / "9.jpg")
    with open(os.fsencode(here) + b"/\xff\xfe.jpg", "wb") as file:
        file.write(b"?")
    why = {s.name: s.why for s in nico_album(root).skipped}
    assert why == {
        "animal/images/cat/on_snow/9.jpg": "unreadable",
        "animal/images/cat/on_snow/\\udcff\\udcfe.jpg": "unreadable",
    }


def test_files_are_decoded_once_and_again_when_they_change(tmp_path, monkeypatch):
    root = trees.tree(tmp_path / "a", "images", each=1)
    first = nico_album(root)
    looked, look = [], module._look
    monkeypatch.setattr(module, "_look", lambda path: (looked.append(path.name), look(path))[1])
    assert table(nico_album(root)) == table(first)
    assert not looked
    changed = root / "animal/images/dog/on_snow/0.jpg"
    old = changed.stat()
    trees.write(changed, trees.picture(4321))
    os.utime(changed, ns=(old.st_atime_ns, old.st_mtime_ns + 1))
    assert table(nico_album(root)) != table(first)
    assert looked == ["0.jpg"]
    # A picture that changes between the look and its use is noticed.
    place = first.names.index("dog/on_snow/0.jpg")
    with pytest.raises(InputError, match="0.jpg has changed while it was in use"):
        first.read(place, 8)


def test_a_folder_that_is_none_or_holds_nothing(tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        nico_album(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no picture in on_snow: folders must be"):
        nico_album(tmp_path, ["on snow"])


@pytest.mark.skipif("RPO_NICO_SPLITS" not in os.environ, reason="RPO_NICO_SPLITS names no folder of published lists")
def test_the_published_lists_resolve_in_every_layout(tmp_path):
    """A folder with a small picture for every listed file but one, which is named."""
    folder = Path(os.environ["RPO_NICO_SPLITS"])
    lines = [line.split(",") for path in sorted(folder.glob("*.csv")) for line in path.read_text().splitlines()]
    assert len(lines) == 4080
    for layout in LAYOUTS:
        root = tmp_path / layout
        for number, (name, kind, context, label) in enumerate(lines[1:], start=1):
            file = name.split("\\")[-1]
            form = "PNG" if file.endswith("png") else "JPEG"
            trees.write(root / trees.place(layout, label, kind, context, file), trees.picture(number, form, (5, 4)))
        data = nico(root, lists=folder)
        missing = lines[0][0].replace("\\", "/")
        assert data.skipped == ((missing, "listed in env_test.csv but missing"),)
        assert [int((data.domain == e).sum()) for e in range(4)] == [1640, 1640, 399, 400]
        own = nico(root, seed=1)
        assert [int((own.domain == e).sum()) for e in range(3)] == [1640, 1640, 400]
