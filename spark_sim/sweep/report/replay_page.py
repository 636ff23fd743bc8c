"""The page of ``streams-assignor replay --html``: the trace of one run."""

from __future__ import annotations

import json
from typing import Any, Final

from streams_assignor.formats.page import json_block, page_parts
from streams_assignor.spark_sim.sweep.report.trace_view import trace_view
from streams_assignor.spark_sim.sweep.traces import Trace

TITLE: Final = "Replay"
_SCRIPT: Final = """import { fill, pageData } from "./dom.mjs";
import { replayParts } from "./replay.mjs";
fill(replayParts(pageData()));
"""


def replay_page(trace: Trace[Any]) -> str:
    """Return the page of a run, which has the JSON of ``replay --json`` as well."""
    plain = trace.as_json()
    data = {"stdout": json.dumps(plain, ensure_ascii=False), "stderr": "", "view": trace_view(plain["steps"])}
    parts = page_parts(
        TITLE,
        _SCRIPT,
        [json_block("data", data)],
        heading="One run, step by step",
        lead=trace.scenario,
        origin="Made by streams-assignor replay: a simulation with the members and bytes of the real assignor.",
    )
    return "".join(parts)
