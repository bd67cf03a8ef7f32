"""Files written whole under names nobody can guess, and locks that follow no link."""

import os
from pathlib import Path

import pytest

from rpo._io import check_not_input, hold, read_regular, remove_temporaries, replacing, write_whole
from rpo.exceptions import InputError


def test_the_temporary_is_ours_alone_and_goes(tmp_path):
    names = set()
    for _ in range(3):
        with replacing(tmp_path / "p.csv") as temporary:
            names.add(temporary.name)
            assert temporary.parent == tmp_path
            assert temporary.stat().st_mode & 0o777 == 0o666 & ~_umask()
            temporary.write_text("x")
        assert os.listdir(tmp_path) == ["p.csv"]
    assert len(names) == 3
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "p.csv") as temporary:
        temporary.write_text(str(1 / 0))
    assert os.listdir(tmp_path) == ["p.csv"]
    assert (tmp_path / "p.csv").read_text() == "x"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_link_is_replaced_and_never_followed(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for name in ("p.csv", "p.csv.partial"):
        (tmp_path / name).symlink_to("thesis.tex")
    write_whole(tmp_path / "p.csv", "new")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "p.csv").read_text() == "new"
    assert not (tmp_path / "p.csv").is_symlink()


def test_a_device_is_no_place_to_write():
    with pytest.raises(InputError, match="is not a regular file"):
        write_whole(Path("/dev/null"), "x")


@pytest.mark.parametrize("make", [lambda p: p.symlink_to("thesis"), lambda p: p.write_text("own"), os.mkfifo])
def test_a_lock_that_is_not_ours_is_left_alone(tmp_path, make):
    (tmp_path / "thesis").write_text("years of work")
    make(tmp_path / "lock")
    with pytest.raises(InputError, match="lock"), hold(tmp_path, "--out"):
        pass
    assert (tmp_path / "thesis").read_text() == "years of work"


def test_a_lock_is_taken_again_after_its_holder_is_gone(tmp_path):
    (tmp_path / "lock").write_text("123456789")
    with hold(tmp_path, "--out"):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_only_files_of_our_own_are_removed(tmp_path):
    (tmp_path / ".rpo-0123456789abcdef.partial").write_text("")
    kept = [".rpo-012345.partial", "x.partial", ".rpo-0123456789abcdeg.partial"]
    for name in kept:
        (tmp_path / name).write_text("")
    (tmp_path / ".rpo-aaaaaaaaaaaaaaaa.partial").mkdir()
    (tmp_path / ".rpo-bbbbbbbbbbbbbbbb.partial").symlink_to("x.partial")
    remove_temporaries(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(
        [*kept, ".rpo-aaaaaaaaaaaaaaaa.partial", ".rpo-bbbbbbbbbbbbbbbb.partial"]
    )


def test_no_more_than_asked_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_regular(tmp_path / "a", 5) == b"12345"
    with pytest.raises(InputError, match="has 5 bytes, more than 4"):
        read_regular(tmp_path / "a", 4)


def test_the_input_is_no_place_for_the_output(tmp_path):
    (tmp_path / "t.csv").write_text("a")
    (tmp_path / "same.csv").hardlink_to(tmp_path / "t.csv")
    for name in ("t.csv", "same.csv"):
        with pytest.raises(InputError, match="is the input file"):
            check_not_input(tmp_path / name, "--out", tmp_path / "t.csv")
    check_not_input(tmp_path / "other.csv", "--out", tmp_path / "t.csv")
