"""``plan -o html``: a plan as a page for the browser, from the plain values of ``plan --json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from streams_assignor.cli.plan.markdown import plan_title, runbook
from streams_assignor.formats.page import json_block, page_parts
from streams_assignor.formats.text import without_controls

_SCRIPT: Final = """import { fill, pageData } from "./dom.mjs";
import { planParts, showHazard } from "./plan.mjs";
fill(planParts(pageData()));
const show = () => showHazard(location.hash.replace("#hazard-", ""));
addEventListener("hashchange", show);
show();
"""


def plan_page(plain: Mapping[str, Any]) -> str:
    """Return the page of a plan, for a group or for brokers; it has the runbook and the JSON as well."""
    data = {"stdout": json.dumps(plain, indent=2, ensure_ascii=False), "stderr": "", "runbook": runbook(plain)}
    parts = page_parts(
        "Upgrade plan",
        _SCRIPT,
        [json_block("data", data)],
        heading=without_controls(plan_title(plain)),
        lead="What is checked here stays in this window, and is sent nowhere.",
        origin="Made by streams-assignor plan.",
    )
    return "".join(parts).rstrip()
