"""The file of a study's records: read back as it was written; anything wrong with it is one line."""

import gzip
import json

import pytest

from rpo.exceptions import InputError
from rpo_lab.runner.runner import execute
from rpo_lab.runner.store import Store, read_file, read_records, write_file, write_records


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
