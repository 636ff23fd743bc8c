"""Waits for the master of a standalone cluster: Spark itself says nothing for a minute when none is there."""

from __future__ import annotations

import socket
import time
from typing import Final

from streams_assignor.spark_sim.jobs.engine import Log
from streams_assignor.spark_sim.sweep.spark.java import SparkNotStarted

_SCHEME: Final = "spark://"
WAIT_SECONDS: Final = 20.0
_RETRY_SECONDS: Final = 1.0
_REPORT_SECONDS: Final = 5.0


def wait_for_master(master: str, log: Log, seconds: float = WAIT_SECONDS) -> None:
    """Return as soon as one of the masters in ``spark://HOST:PORT,...`` accepts a connection; other masters are none.

    Raises:
        SparkNotStarted: None does within so many seconds; ``log`` says meanwhile what is waited for.
    """
    addresses = master.removeprefix(_SCHEME).split(",") if master.startswith(_SCHEME) else []
    deadline, reported = time.monotonic() + seconds, float("-inf")
    while addresses:
        reasons = []
        for address in addresses:
            left = max(_RETRY_SECONDS, deadline - time.monotonic()) / len(addresses)
            if not (reason := _refusal(address, left)):
                return
            reasons.append(f"{address}: {reason}")
        text, now = "; ".join(reasons), time.monotonic()
        if now >= deadline:
            raise SparkNotStarted(f"expected a Spark master at {master}, got none in {seconds:.0f} s: {text}")
        if now - reported >= _REPORT_SECONDS:
            log(f"waiting for a Spark master, {deadline - now:.0f} s more: {text}")
            reported = now
        time.sleep(_RETRY_SECONDS)


def _refusal(address: str, seconds: float) -> str:
    """Return why an address accepts no connection; empty if it does."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""
