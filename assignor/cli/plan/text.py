"""A plan as text: one line for each fact, or with ``-v`` all of it.

The first line has the verdict, the last one what was checked. A terminal gets lines that fit: the text of a plan is
wrapped, and a fact that ``-v`` has in full is cut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import click

from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import count, sanitize
from streams_assignor.upgrade import Advice, Plan, Upgrade
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode
from streams_assignor.upgrade.cluster.brokers.steps import BrokerAdvice, BrokerStep
from streams_assignor.upgrade.hazards import (
    COULD_SET,
    UNSET,
    Answer,
    CheckedScope,
    Concern,
    Hazard,
    JudgedHazard,
    Severity,
    WayBack,
    count_by_severity,
)
from streams_assignor.upgrade.planner import PlanStep
from streams_assignor.upgrade.streams_protocol.planner import MigrationStep
from streams_assignor.upgrade.verdict import TopologyFeature, Verdict

_NUMBERS: Final = ("no", "one", "two", "three", "four")
_TITLES: Final = {
    Plan.ONE_BOUNCE: "one rolling bounce, no configuration",
    Plan.TWO_BOUNCES: "two rolling bounces",
    Plan.OFFLINE: "offline: stop everything, then start everything",
}
_COLOURS: Final = {
    Verdict.SAFE: "bold green",
    Verdict.SAFE_IF: "bold yellow",
    Verdict.UNKNOWN: "bold yellow",
    Verdict.UNSAFE: "bold red",
    Verdict.ERROR: "bold red",
}
CANNOT_BE_TOLD: Final = 3
"""The exit status if no step is known to stop members, and that is not proven."""
_MODES: Final = {MetadataMode.ZOOKEEPER: "with ZooKeeper", MetadataMode.KRAFT: "in KRaft mode"}
_OR_OFFLINE: Final = "or, if the group may stop: stop everything, then start everything (--offline)"
_FRAME: Final = 2
"""The line above the hazards and the one below."""
_DECISIVE: Final = {Severity.STOPS: "stop members", Severity.LOSES: "lose data"}


def print_plan(lines: Iterable[str], verdict: Verdict, view: DisplayOptions) -> None:
    """Print the lines of a plan; a terminal gets the verdict in colour, if ``NO_COLOR`` is not set."""
    text = view.show(lines)
    if view.columns is None:
        click.echo(text)
        return
    from rich.text import Text  # the page in a browser has no rich, and no terminal

    from streams_assignor.formats.console import SafeConsole

    coloured, headline = Text(text), text.partition("\n\n")[0]  # the rest may have the word, too
    if word := re.search(rf"(?<=: )(?:{verdict.value}|{Verdict.UNKNOWN.words})", headline):
        coloured.stylize(_COLOURS[verdict], *word.span())
    SafeConsole().print(coloured, soft_wrap=True)


def group_plan_lines(
    advice: Advice,
    view: DisplayOptions,
    checked: CheckedScope,
    parts: Sequence[Iterable[str]] = (),
    *,
    blocked: str = "",
    judged: Sequence[JudgedHazard] | None = None,
    is_proven: bool = True,
) -> Iterator[str]:
    """Write the plan of a group.

    Args:
        advice: The plan.
        view: How much of it.
        checked: Its checked subjects.
        parts: The lines directly below the verdict, then those before the last line.
        blocked: Why the steps must not be made; empty if they may.
        judged: The hazards, compared with the files of an application; None without files.
        is_proven: Whether nothing is left open that would make a safe plan unsafe.
    """
    below, *further = parts or ((),)
    before = [group_headline(advice, blocked, judged, is_proven=is_proven), *below, ""]
    way = [*all_step_lines(advice.steps, view), *((other, "") if (other := alternative(advice)) else ())]
    if notes := [*advice.notes, *advice.warnings]:
        way += [*(f"note: {note}" for note in notes), ""]
    before += [*filter(None, way), ""] if view.is_short else way  # on a screen without empty lines
    scope = checked.summary if view.is_short else str(checked)
    after = [line for part in map(list, further) if part for line in (*part, "")] + [scope]
    yield from before
    if judged:
        yield from (*judged_lines(judged, view, [*before, *after], is_blocked=bool(blocked)), "")
    elif advice.hazards:
        yield from (*hazard_lines(advice.hazards, view, [*before, *after]), "")
    yield from after


def group_headline(
    advice: Advice, blocked: str = "", judged: Sequence[JudgedHazard] | None = None, *, is_proven: bool = True
) -> str:
    """Return the first line of a plan in every form: the releases, the verdict with its conditions, and the way."""
    return f"{advice.origin} to {advice.target}: {_verdict_text(advice, blocked, judged, is_proven=is_proven)}"


def alternative(advice: Advice) -> str:
    """Return the way without a rolling bounce; empty if the steps are that way."""
    return "" if advice.plan is Plan.OFFLINE else _OR_OFFLINE


def broker_headline(advice: BrokerAdvice, verdict: Verdict = Verdict.SAFE, reasons: Sequence[str] = ()) -> str:
    """Return the first line of a plan of brokers in every form."""
    rolls = count(advice.rolls, "roll") if advice.is_possible else "no way"
    if verdict is Verdict.UNKNOWN:
        rolls = f"cannot be told: {'; '.join(reasons)}"
    elif reasons and advice.is_possible:
        rolls = f"unsafe: {'; '.join(reasons)}"
    way = sanitize(f"brokers {_MODES[advice.mode]}, {advice.origin} to {advice.target}: {rolls}")
    return "; ".join((way, *advice.assumed))


def broker_plan_lines(
    advice: BrokerAdvice, view: DisplayOptions, configuration: Iterable[str] = (), headline: str = ""
) -> Iterator[str]:
    """Write the plan of brokers in the same form, with the lines about their configuration."""
    yield headline or broker_headline(advice)
    yield ""
    yield from all_step_lines(advice.steps, view)
    if advice.warnings:
        yield from (*(f"note: {note}" for note in advice.warnings), "")
    if lines := list(configuration):
        yield from (*lines, "")
    yield str(advice.checked)


def hazard_lines(hazards: Sequence[Hazard], view: DisplayOptions, others: Iterable[str] = ()) -> Iterator[str]:
    """Write hazards, the most severe first: one line each, or all that is known of them.

    If they do not fit on a screen with the other lines of the plan, the last line counts those that are left out.
    """
    seen = sum(bool(hazard.seen) for hazard in hazards)
    more = "" if view.verbose else "; -v: what to do"
    yield f"hazards beyond the metadata: {len(hazards)}, {seen} seen with real jars{more}"
    if view.verbose:
        yield from (line for hazard in hazards for line in hazard.lines())
        return
    room = view.room_beside(others)
    fit = len(hazards) if room is None or len(hazards) + _FRAME <= room else max(room - _FRAME - 1, 1)
    kept = sorted(range(len(hazards)), key=lambda place: _KEPT[hazards[place].severity])[:fit]
    yield from (view.fact(f"- {hazards[place].brief}") for place in sorted(kept))
    if fit < len(hazards):
        hidden = (hazards[place] for place in range(len(hazards)) if place not in kept)
        yield f"- and {len(hazards) - fit} more ({_kinds(hidden)}): -v"


def _kinds(hazards: Iterable[Hazard]) -> str:
    """Count hazards by severity."""
    return ", ".join(f"{severity} {number}" for severity, number in count_by_severity(hazards).items() if number)


def _of_both_lines(judged: Iterable[JudgedHazard], view: DisplayOptions) -> Iterator[str]:
    """Count the known bugs that both releases have, as the upgrade changes nothing about them."""
    possible = [each for each in judged if each.in_both and each.concern.answer is not Answer.NO]
    if possible:
        yield f"known bugs of both releases: {len(possible)}{'' if view.verbose else '; -v: which'}"
        yield from (line for each in possible for line in each.hazard.lines() if view.verbose)


def judged_lines(
    judged: Sequence[JudgedHazard], view: DisplayOptions, others: Iterable[str] = (), *, is_blocked: bool = False
) -> Iterator[str]:
    """Write the hazards that concern an application with what shows it, those of which files cannot tell, and the rest.

    If they do not fit on a screen with the other lines of the plan, those of which files cannot tell are names, by what
    decides them, and none by which the plan is not proven is left out. If the plan is unsafe, they are counted.
    """
    yes, unknown, no = (
        [each for each in judged if each.concern.answer is answer and not each.in_both] for answer in Answer.in_order()
    )
    hint = "" if view.verbose else "; -v: what to do"
    first = [f"hazards that concern you: {len(yes) or 'none'}{hint if yes else ''}"]
    for judged_hazard in yes:
        if view.is_short and not judged_hazard.is_severe:
            first.append(view.fact(f"- {judged_hazard.hazard.brief}"))
        else:
            first += _with_reason(judged_hazard, "shown by", _shown(judged_hazard.concern.evidence, view), view)
    last = [f"do not concern you: {len(no)}{'' if view.verbose else '; -v: why'}"] if no else []
    if no and view.verbose:
        reasons = (
            f"- {judged_hazard.hazard.applies_to}: {'; '.join(judged_hazard.concern.evidence)}" for judged_hazard in no
        )
        last += map(sanitize, reasons)
    last += _of_both_lines(judged, view)
    yield from first
    if unknown:
        head = [f"cannot be told: {len(unknown)}; {_asked_for(unknown)}"]
        head += (view.fact(sanitize(line)) for line in _open_settings(unknown))
        room = view.room_beside([*others, *first, *head, *last, ""])
        if is_blocked and room is not None and len(unknown) > room:
            yield f"cannot be told: {len(unknown)} ({_kinds(each.hazard for each in unknown)}): -v"
        else:
            yield from (*head, *_unknown_lines(unknown, view, room))
    yield from last


def _shown(evidence: Sequence[str], view: DisplayOptions) -> str:
    """Return evidence as one text; a terminal gets the first piece, without the files that do not set a key."""
    if not view.is_short:
        return "; ".join(evidence)
    key, unset, _ = evidence[0].partition(UNSET)
    more = f"; and {len(evidence) - 1} more" if evidence[1:] else ""
    return f"{f'{key} is not set' if unset else evidence[0]}{more}"


def _with_reason(judged: JudgedHazard, label: str, reason: str, view: DisplayOptions) -> Iterator[str]:
    lines = judged.hazard.lines() if view.verbose else (f"- {judged.hazard.brief}",)
    yield view.fact(lines[0])
    yield sanitize(f"    {label}: {reason}")  # not cut: the end of a path or a name can be all that matters
    if judged.is_severe and not view.verbose:
        yield sanitize(f"    {judged.hazard.remedy_line}")
    yield from lines[1:]


def _unknown_lines(unknown: Sequence[JudgedHazard], view: DisplayOptions, room: int | None) -> Iterator[str]:
    if view.verbose:
        for judged_hazard in unknown:
            concern = judged_hazard.concern
            yield from _with_reason(
                judged_hazard, "decided by", "; ".join((*concern.evidence, *concern.decided_by)), view
            )
        return
    if room is None or len(unknown) <= room:
        yield from (view.fact(sanitize(_unknown_line(judged_hazard))) for judged_hazard in unknown)
        return
    hidden = list[Hazard]()
    for (decides, kind), hazards in _grouped(unknown).items():
        line = f"- {kind}: {', '.join(hazard.name for hazard in hazards)}"
        room -= view.show([line]).count("\n") + 1
        if decides or room > 0:
            yield line
        else:
            hidden += hazards
    if hidden:
        yield f"- and {len(hidden)} more ({_kinds(hidden)}): -v"


def _unknown_line(judged: JudgedHazard) -> str:
    hazard, concern = judged.hazard, judged.concern
    looks = "" if _options(concern) else f"; look {'; '.join(concern.decided_by)}"
    return f"- {_kind(judged)}: {hazard.applies_to}: {hazard.words}{looks}"


def _grouped(unknown: Iterable[JudgedHazard]) -> dict[tuple[bool, str], list[Hazard]]:
    """Return them by effect and by what decides them, first those by which a plan is not proven."""
    groups: dict[tuple[bool, str], list[Hazard]] = {}
    for judged in sorted(unknown, key=lambda each: not each.is_undecided):
        groups.setdefault((judged.is_undecided, _kind(judged)), []).append(judged.hazard)
    return groups


def _kind(judged: JudgedHazard) -> str:
    """Return the effect of an open hazard, and what decides it."""
    return f"{judged.hazard.severity.value} ({decided_by(judged.concern)})"


def decided_by(concern: Concern) -> str:
    """Return the options that would decide an open question, or that it needs a look."""
    return " or ".join(sorted(_options(concern))) or "look"


def _open_settings(unknown: Sequence[JudgedHazard]) -> Iterator[str]:
    """Say once, for all keys that no file sets, what could set them."""
    concerns = [judged.concern for judged in unknown]
    files = {text.partition(UNSET)[2] for concern in concerns for text in concern.evidence if UNSET in text}
    could = (text for concern in concerns if concern.evidence for text in concern.contradicted_by if COULD_SET in text)
    if files and (texts := list(dict.fromkeys(could))):
        yield f"    settings: not set in {', '.join(sorted(files))}; {'; '.join(texts)}"


def _options(concern: Concern) -> list[str]:
    found = (_OPTION.search(text) for text in concern.decided_by)
    return list(dict.fromkeys(match[0] for match in found if match))


_OPTION: Final = re.compile(r"--(?:app with your libraries|app|config|topology|group)")


def _asked_for(unknown: Iterable[JudgedHazard]) -> str:
    """Count what the options would decide, and what is left to a look."""
    counted = Counter(option for judged_hazard in unknown for option in _options(judged_hazard.concern) or [""])
    looks = counted.pop("", 0)
    decided = [f"{option} decides {number}" for option, number in counted.most_common()]
    return ", ".join([*decided, *([f"{looks} need{'s' if looks == 1 else ''} a look of yours"] if looks else [])])


def split_text(judged: Iterable[tuple[str, str]]) -> str:
    """Say how many hazards concern an application and how many may, by answer and severity; empty if none does.

    >>> split_text([("yes", "loses"), ("no", "stops"), ("unknown", "stops")])
    '1 hazard concerns you (1 can lose data), of 1 the files cannot tell (1 can stop members)'
    """
    counted = Counter(judged)
    number = Counter(answer for answer, _ in counted.elements())
    yes, unknown = (number[answer.value] for answer in (Answer.YES, Answer.UNKNOWN))

    def worst(answer: Answer) -> str:
        return _worst({severity.value: counted[answer.value, severity.value] for severity in Severity})

    verb = "concerns" if yes == 1 else "concern"
    concerned = f"{count(yes, 'hazard')} {verb} you{worst(Answer.YES)}" if yes else ""
    open_ones = f"of {unknown} the files cannot tell{worst(Answer.UNKNOWN)}" if unknown else ""
    return ", ".join(filter(None, (concerned, open_ones)))


def _worst(hazards: Mapping[str, int]) -> str:
    """Count the hazards that stop or lose, by severity, in brackets behind a blank; empty if there is none."""
    counts = ((hazards[severity.value], words) for severity, words in _DECISIVE.items())
    texts = ", ".join(f"{number} can {words}" for number, words in counts if number)
    return f" ({texts})" if texts else ""


_KEPT: Final = {
    severity: place for place, severity in enumerate((Severity.LOSES, Severity.STOPS, Severity.WAITS, Severity.CHANGES))
}
"""The lines that stay if not all fit: a member that stops is noticed, lost data is not."""


def all_step_lines(steps: Iterable[PlanStep | BrokerStep], view: DisplayOptions) -> Iterator[str]:
    """Write steps; an empty line follows each, or only the last one in a terminal."""
    for number, step in enumerate(steps, 1):
        yield from step_lines(number, step, view)
        if not view.is_short:
            yield ""
    if view.is_short:
        yield ""


def step_lines(number: int, step: PlanStep | BrokerStep | MigrationStep, view: DisplayOptions) -> Iterator[str]:
    """Write a step with its commands, its reasons, its way back and its sources."""
    yield f"{number}. {step.do}"
    if isinstance(step, MigrationStep):
        yield from (f"   $ {command}" for command in step.commands)
    yield view.fact(f"   why:        {step.why}")
    yield view.fact(f"   if skipped: {step.if_skipped}")
    yield view.fact(f"   way back:   {step.way_back if view.verbose else step.way_back.summary}")
    if view.is_short:
        return
    sources = step.source.split(", ")
    if view.verbose and isinstance(step.way_back, WayBack):
        sources += step.way_back.source.split(", ")
    yield view.fact(f"   source:     {', '.join(dict.fromkeys(sources))}")


def _title(hops: Sequence[Upgrade]) -> str:
    if len(hops) == 1:
        return _TITLES[hops[0].plan]
    bounces = sum(len(hop.rounds) for hop in hops)
    return f"{_NUMBERS[bounces]} rolling bounces, through {', '.join(str(hop.target) for hop in hops[:-1])}"


def _verdict_text(advice: Advice, blocked: str, judged: Sequence[JudgedHazard] | None, *, is_proven: bool) -> str:
    """Return the verdict with its conditions, the plan, and what else decides."""
    guided, title, rest = advice.guidance, _title(advice.guidance.hops), rest_text(advice.beyond_metadata)
    if judged is not None:
        rest = split_text(
            (each.concern.answer.value, each.hazard.severity.value) for each in judged if not each.in_both
        )
    features = [feature.words for feature in guided.features]
    word = (guided.verdict if is_proven else Verdict.UNKNOWN).words
    if blocked:
        way, rest = f"{guided.verdict.value}: {blocked}", ""
    elif guided.verdict in {Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.ERROR}:
        why = f"the topology has {' and '.join(features)}" if features else "in a group of this size, see below"
        way, rest = f"{guided.verdict.value}: {title}; {why}", ""
    elif guided.verdict is Verdict.SAFE:
        safe = f"safe for the {'protocol' if advice.is_of_streams_group else 'metadata'}"
        way = f"{safe if rest else word}: {title}" if is_proven else f"{word}: {safe}, {title}"
    else:
        subject = "application" if TopologyFeature.SECOND_THREAD in guided.features else "topology"
        condition = f"if the {subject} has no {' and no '.join(features)}"
        way = f"{word}: {_title(guided.if_met or guided.hops)}, {condition}"
        if guided.if_met:
            only = f", which {' and '.join(feature.words for feature in guided.hops_features)} make unsafe"
            way += f"; else {title}{only if guided.hops_features else ''}, as below"
    return "; ".join(filter(None, (way, rest, *advice.assumed, *advice.patch_levels)))


def undecided_note(undecided: Sequence[JudgedHazard]) -> tuple[str, ...]:
    """Say why a plan that is not unsafe has the exit status of one that is not proven."""
    number = count(len(undecided), "hazard")
    can = "that can stop or lose"
    return (f"exit status {CANNOT_BE_TOLD}: the files do not rule out {number} {can}",) if undecided else ()


def rest_text(hazards: Mapping[str, int]) -> str:
    """Say how much decides besides the metadata, by severity; empty if nothing does.

    >>> rest_text({"stops": 3, "loses": 0, "waits": 0, "changes": 1})
    '4 things of your application and brokers decide the rest (3 can stop members)'
    """
    number = sum(hazards.values())
    if not number:
        return ""
    decide = "decides" if number == 1 else "decide"
    return f"{count(number, 'thing')} of your application and brokers {decide} the rest{_worst(hazards)}"
