"""The part of ``plan`` about a group of a given size: what was explored, and what was played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from streams_assignor.formats.progress import step
from streams_assignor.formats.text import count, format_seconds
from streams_assignor.upgrade import Upgrade
from streams_assignor.upgrade.verdict import Verdict

if TYPE_CHECKING:
    from streams_assignor.spark_sim.advice.impact import Impact, MeasuredHop


def estimate_impact(
    hops: Iterable[Upgrade],
    *,
    members: int,
    tasks: int,
    standbys: int,
    static: bool,
    session_timeout: float,
    state: str = "persistent",
    **_flags: bool,
) -> Impact:
    """Explore and measure the plan in a group of this size; a terminal shows a spinner."""
    from streams_assignor.formats.console import (
        SafeConsole,  # rich is for a terminal, and a plan without a size shows none
    )
    from streams_assignor.spark_sim.advice import impact

    workload = impact.workload_with(tasks, standbys, static=static, ephemeral=state == "ephemeral")
    group = impact.GroupProfile(members, workload, session_timeout)
    console = SafeConsole(stderr=True)
    text = f"exploring every schedule, then playing the plan with {count(members, 'member')} ..."
    step("" if console.is_terminal else text)
    with console.status(text):
        return impact.estimate_impact(hops, group)


def impact_lines(impact: Impact) -> Iterator[str]:
    """Write what was explored and measured."""
    group = impact.as_json()
    for bounce in group["explored"]:
        what = f"{bounce['from_release']} to {bounce['to_release']}, {bounce['plan'].replace('_', ' ')}"
        verdict = f"{bounce['verdict']} {bounce['groups']}".strip()
        yield f"explored with {count(bounce['members'], 'member')}: {what}: {verdict}"
        if bounce["verdict"] == Verdict.SAFE.value:
            yield f"   {bounce['states']:,} states, every schedule with up to one crash and one late member"
        else:
            yield f"   {bounce['property']} ({bounce['message']})"
            if bounce["example"]:
                yield f'   streams-assignor replay "{bounce["example"]}"'
            yield f"   instead: {bounce['instead']}"
    whole = _size_text(group)
    if group["sample"]:
        yield f"played with {_size_text(group['sample'])}, a sample of {whole}:"
        yield "   metadata is that of the whole group as it starts"
    else:
        yield f"played with {whole}:"
    for hop in impact.measured_hops:
        words = " unsafe" if hop.violation else _HOW_KNOWN[hop.figures]
        yield f"   {hop.origin} to {hop.target}, {hop.how}:{words}"
        if hop.violation:
            yield f"      {hop.violation}"
            yield f'      streams-assignor replay "{hop.example}"'
            continue
        rebalances = _range(hop.least_rebalances, hop.rebalances, "rebalance")
        yield f"      {rebalances}, tasks move {_range(hop.least_moved, hop.moved, 'time')}; {_gaps_text(hop)}"
        share = 100 * hop.group_bytes / group["broker_limit_bytes"]
        yield f"      metadata: {hop.group_bytes:,} bytes, {share:.2g} % of what a broker takes of a group by default"
    yield from (f"assumed: {text}" for text in group["assumed"])


_HOW_KNOWN: Final = {
    "played": "",
    "extrapolated": " counts and times of the whole group, extrapolated from seven sizes that lie on one polynomial",
    "of a sample": " counts and times of the sample",
}


def _size_text(group: Mapping[str, int]) -> str:
    return f"{count(group['members'], 'member')} and {count(group['tasks'], 'task')}"


def _range(least: int, most: int, noun: str) -> str:
    return count(most, noun) if least == most else f"{least:,} to {count(most, noun)}"


def _gaps_text(hop: MeasuredHop) -> str:
    if not hop.gaps:
        return "every task always has an owner"
    words = "of" if hop.gaps * hop.longest_gap_s == hop.gaps_s else "of up to"
    return (
        f"some task has no owner for {format_seconds(hop.gaps_s)} in {count(hop.gaps, 'gap')} "
        f"{words} {format_seconds(hop.longest_gap_s)}, one task for at most {format_seconds(hop.longest_s)}"
    )
