"""Connection to the scheduler of a Dask cluster, or a one-line error within seconds.

Nothing heavy is imported here, so that a command can check before it does anything else.
"""

import gc
import logging
from typing import TYPE_CHECKING

from rpo.exceptions import InputError

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 4.0  # seconds for an answer


def connect(address: str, *, default: bool = False) -> "Client":
    """Connect to the scheduler at an address; `default` makes the client Dask's default.

    >>> connect("nowhere")
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: no Dask scheduler answers at nowhere (missing port number in address ...
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'rpo[cluster]'") from None
    if not address:  # Dask would start a cluster of its own
        raise InputError("--cluster is empty: pass the address of a Dask scheduler, such as tcp://10.0.0.5:8786")
    for name in ("distributed", "distributed.client"):  # errors are reported in one line, by us
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        get_address_host_port(address)  # a client that fails on this is slow to close
        return Client(address, timeout=PATIENCE, set_as_default=default, name="rpo")  # type: ignore[no-untyped-call]
    except Exception as error:  # anything may listen there
        words = " ".join(str(error).split()) or type(error).__name__
    # Collect the failed client now, not when another starts: the two would wait for each other.
    gc.collect()
    raise InputError(
        f"no Dask scheduler answers at {address} ({words[:120]}): start one with `dask scheduler`, "
        "or remove --cluster to use this machine"
    )


def check_scheduler(address: str) -> str:
    """Check that a scheduler answers at the address, before anything is computed; return the address."""
    connect(address).close()  # type: ignore[no-untyped-call]
    return address
