"""Words about what the code of an application loses, from the plain values of ``plan --json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def remedy_text(problem: Mapping[str, Any]) -> str:
    """Return what to call instead of what is missing; empty if nothing is known.

    >>> remedy_text({"replacement": None, "candidates": ["KStream#process(ProcessorSupplier, String[])"]})
    'the new release has KStream#process(ProcessorSupplier, String[])'
    """
    if row := problem["replacement"]:
        parts = (f"use {row['instead']}", row["numbers"], row["also"])
        return f"{'; '.join(filter(None, parts))} ({row['source']})"
    return f"the new release has {', '.join(problem['candidates'])}" if problem["candidates"] else ""
