import errno
import gzip
import json
import os
import subprocess
import sys

import pytest

from rpo._io import write_whole
from rpo.exceptions import InputError
from rpo_lab.runner.runner import execute
from rpo_lab.runner.specification import DataSpec, Run
from rpo_lab.runner.store import Measured, Record, Store, read_file, read_records, write_file, write_records

RUN = Run(data=DataSpec(name="confounded"), method="rpo", seed=1)
MEASURED = Measured(validation_risk=[0.123456789, 1.0], validation_irm=[0.0, 2.0], test={"test": {"mse": 3.0}})
RECORD = Record(run=RUN, status="done", measured=MEASURED, seconds=1.5, versions={"rpo": "0"})


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "out")
    with store.lock():
        store.write(RECORD)
    return store


def test_a_record_comes_back_as_it_was(store):
    assert store.read(RUN) == RECORD
    assert store.read(RUN).measured.validation_risk == [0.123457, 1.0]
    assert store.read(RUN.model_copy(update={"seed": 2})) is None
    assert [path.name for path in store.runs.iterdir()] == [f"{RUN.digest}.json"]


def _truncate(content):
    return content[: len(content) // 2]


def _flip(content):
    return content.replace(b'"mse":3.0', b'"mse":2.0')


def _empty(content):
    return b""


def _list(content):
    return b"[1, 2]"


@pytest.mark.parametrize("damage", [_truncate, _flip, _empty, _list])
def test_a_corrupt_record_is_found_named_and_set_aside(store, damage):
    path = store.runs / f"{RUN.digest}.json"
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    assert store.read(RUN) is None
    assert store.corrupt == [path]
    store.set_aside()
    assert store.aside == [path.with_suffix(".json.corrupt")]
    assert store.aside[0].read_bytes() == damaged
    assert not path.exists()


def test_another_runs_record_under_this_name_is_corrupt(store):
    other = RUN.model_copy(update={"seed": 2})
    (store.runs / f"{RUN.digest}.json").rename(store.runs / f"{Run.model_validate(other.model_dump()).digest}.json")
    assert store.read(Run.model_validate(other.model_dump())) is None
    assert len(store.corrupt) == 1


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    write_whole(path, "old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(InputError, match="No space left on device") as caught:
        write_whole(path, "new")
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot create the folder"), Store(tmp_path / "file").lock():
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"), Store(tmp_path / "out").lock():
        pass


HOLD = """
import sys, pathlib
from rpo_lab.runner.store import Store
with Store(pathlib.Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_share_a_folder(store):
    command = [sys.executable, "-c", HOLD, str(store.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"in use by process {holder.pid}"), store.lock():
            pass
        holder.kill()
        holder.wait()
    with store.lock():  # a killed process leaves no lock
        pass


def test_what_a_killed_writer_left_is_removed_and_nothing_else(store):
    left = store.runs / ".rpo-0123456789abcdef.partial"
    left.write_text("{")
    others = [store.folder / "thesis.partial", store.runs / "half.json.partial", store.folder / "x" / left.name]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("years of work")
    (store.folder / ".rpo-fedcba9876543210.partial").mkdir()
    with store.lock():
        assert not left.exists()
    assert [other.read_text() for other in others] == ["years of work"] * 3
    assert store.read(RUN) == RECORD


@pytest.fixture(scope="module")
def runs(small):
    return small.study(steps=2, seeds=2).runs()


@pytest.fixture(scope="module")
def records(runs, tmp_path_factory):
    return execute(runs, Store(tmp_path_factory.mktemp("store")), progress=False)


@pytest.fixture
def written(runs, records, tmp_path):
    write_records(tmp_path / "small.jsonl.gz", runs, records)
    return tmp_path / "small.jsonl.gz"


def lines_of(path):
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def test_what_is_read_is_what_was_written(runs, records, written, tmp_path):
    found = read_records(written, runs)
    assert found == records
    write_records(tmp_path / "again.jsonl.gz", reversed(runs), found)
    assert (tmp_path / "again.jsonl.gz").read_bytes() == written.read_bytes()
    # Lines that any program reads, one a run.
    head, *lines, _ = map(json.loads, lines_of(written))
    assert head["records"] == len(lines) == len(runs)
    assert {name for name, _ in lines} == {run.digest for run in runs}


def test_a_part_of_it_may_be_asked_for_and_no_more_than_it_has(small, runs, written):
    assert len(read_records(written, runs[:3])) == 3
    more = small.study(steps=2, seeds=3).runs()
    with pytest.raises(
        InputError, match=rf"lacks {len(more) - len(runs)} of the {len(more)} requested runs .* seed 2\)"
    ):
        read_records(written, more)


@pytest.mark.parametrize("harm", ["cut", "bit", "line", "empty", "text", "end"])
def test_a_damaged_file_is_one_line(written, runs, harm):
    whole, lines = written.read_bytes(), lines_of(written)
    middle = len(whole) // 2
    written.write_bytes(
        {
            "cut": whole[:-40],
            "bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "line": gzip.compress(b"".join(lines[:3] + lines[4:])),
            "empty": b"",
            "text": b"no file of records",
            "end": gzip.compress(b"".join(lines[:-1])),
        }[harm]
    )
    with pytest.raises(InputError, match="is damaged, or not a records file: download it again") as error:
        read_records(written, runs)
    assert "\n" not in str(error.value)


def test_another_format_kind_or_record_is_named(written, runs, tmp_path):
    first, *rest = lines_of(written)
    head = json.loads(first)
    for change, says in (
        ({"format": 2}, "has format 2, but this version of rpo reads format 1"),
        ({"kind": "x"}, "is not a records file"),
    ):
        written.write_bytes(gzip.compress(b"".join([json.dumps(head | change).encode() + b"\n", *rest])))
        with pytest.raises(InputError, match=says):
            read_records(written, runs)
    write_file(written, {run.digest: {"of": "another kind"} for run in runs})
    with pytest.raises(InputError, match="cannot read"):
        read_records(written, runs)
    with pytest.raises(InputError, match="cannot read .*: No such file"):
        read_file(tmp_path / "none")


def test_a_record_under_another_runs_name_is_refused(written, runs, records):
    one, other = runs[:2]
    write_file(written, {one.digest: records[other.digest].model_dump(mode="json")})
    with pytest.raises(InputError, match="another run's record"):
        read_records(written, [one])


def test_published_results_of_judged_rows_stay_readable_under_other_rules(small, tmp_path, monkeypatch):
    from rpo_lab.runner import specification

    def judged(rules):
        monkeypatch.setattr(specification, "RULES", rules)
        plain = small.study(steps=2, seeds=1).runs()[0]
        data = plain.data.model_copy(update={"judged": "uniform"})
        return [plain, specification.complete(plain.model_copy(update={"data": data}))]

    old, new = judged("1" * 12), judged("2" * 12)
    assert old[0].digest == new[0].digest
    assert old[1].digest != new[1].digest
    records = execute(old, Store(tmp_path / "store"), progress=False)
    write_records(tmp_path / "old.jsonl.gz", old, records)
    found = read_records(tmp_path / "old.jsonl.gz", new)
    assert found == {now.digest: records[then.digest] for then, now in zip(old, new, strict=True)}
    assert found[new[1].digest].run.data.rules == "1" * 12
    # Written again it is the same file: nothing claims to be made under today's rules.
    write_records(tmp_path / "again.jsonl.gz", new, found)
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "old.jsonl.gz").read_bytes()
