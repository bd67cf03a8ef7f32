"""Under which rules a study was run: a fingerprint of the code that judges and decides, kept beside the records."""

import hashlib
import json
from pathlib import Path

from rpo.io import write_whole

FILE = "rules.json"
PACKAGES = ("judging", "models")


def fingerprint() -> str:
    """Twelve hexadecimal digits of the SHA-256 of every file of `rpo.judging` and `rpo.models`.

    >>> len(fingerprint())
    12
    """
    home = Path(__file__).parents[2]
    total = hashlib.sha256()
    for path in sorted(path for name in PACKAGES for path in (home / name).rglob("*.py")):
        total.update(f"{path.relative_to(home).as_posix()}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:12]


def noted(folder: Path, now: str) -> list[str]:
    """The fingerprints under which runs of this folder were done, oldest first; `now` is added, and kept there."""
    path = folder / FILE
    known: list[str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    if now not in known:
        known.append(now)
        write_whole(path, json.dumps(known))
    return known
