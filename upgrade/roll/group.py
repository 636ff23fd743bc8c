"""The rules of a roll of one group of Kafka Streams: its gates, and how what is seen is judged.

Metadata shows versions, not releases: a member is as the step wants it if it can be. Facts that no byte shows (most
values of ``upgrade.from``, releases that send the same) the gates say, and the journal has who was restarted with what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.gates import (
    EVERY_PHASE,
    GatePhase,
    GateResult,
    GateStatus,
    RollGate,
    RollRules,
    RollWatch,
    failed,
    passed,
    shortened,
    waiting,
)
from streams_assignor.upgrade.roll.group_life import (
    follow,
    is_ready,
    joins,
    lives_on,
    no_crash_loop,
    not_replaced,
    replaced_instances,
)
from streams_assignor.upgrade.roll.group_memory import remember, renew
from streams_assignor.upgrade.roll.group_observation import (
    AT_REST,
    NO_MEMBERS,
    GroupEpochs,
    GroupObservation,
    MemberSeen,
    PartitionOffsets,
)
from streams_assignor.upgrade.roll.group_progress import commits, lag, unowned
from streams_assignor.upgrade.roll.plan import BY_HAND, START, STOP, InstanceConfig
from streams_assignor.upgrade.roll.state import RollState
from streams_assignor.upgrade.roll.static_members import static_gate
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS, implies_eager

# -- gates: each returns None if it does not concern the step ---------------------------------------------------------


def _visible(_state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult:
    if seen.state:
        return passed("visible", seen.state)
    return waiting("visible", DeviationKind.NOT_VISIBLE, f"not described: {seen.problem}", "a group that is described")


def _two_owners(_state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult:
    owners = Counter(task for member in seen.members for task in member.active)
    if twice := sorted(task for task, times in owners.items() if times > 1):
        names = sorted({member.label or member.member_id for member in seen.members if twice[0] in member.active})
        text = f"{shortened(twice)} of {' and '.join(names)}"
        return failed("owners", DeviationKind.TWO_OWNERS, f"two owners: {text}", "one owner of each task")
    return passed("owners", f"{len(owners)} tasks, one owner each")


def _returned(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the instances of a step have joined: as many members as before, and none of the old ones."""
    step = state.step
    if step is None or state.is_stopping:
        return None
    if not seen.state:
        return waiting("returned", None, AT_REST)
    by_hand = state.plan.verbs == (BY_HAND,)
    for instance in step.instances:
        ids, before = seen.incarnations(instance), frozenset(step.before.get(instance, ()))
        expected = state.plan.members_of(instance)
        if ids <= before and len(ids) >= expected:
            text = f"{instance} has not joined again: its members are those of before{_instead(state, watch, seen)}"
            kind = DeviationKind.STILL_RUNNING
        elif len(ids - before) < expected:
            text = f"{instance} has {len(ids - before)} of {_members(expected)}"
            has_joined = len(watch.lasting.joined.get(instance, ())) >= expected
            kind = DeviationKind.FAILED_AFTER_JOIN if has_joined else DeviationKind.NOT_RETURNED
            text = f"{text}: it had joined" if has_joined else text
        elif still := ids & before:
            text = f"{instance} has joined; {_members(len(still))} of before still counted"
            kind = DeviationKind.STILL_RUNNING
        elif second := _second_process(state, watch, seen, instance):
            return evolve(second, gate="returned")
        else:
            continue
        wanted = f"{instance} joins with {_members(expected)}"
        if kind is DeviationKind.STILL_RUNNING and not by_hand and _lives(watch, ids & before):
            return failed("returned", kind, f"{text}, and live", wanted, instance)
        return waiting("returned", kind, text, wanted, instances=(instance,), is_patient=by_hand)
    return passed("returned", f"{shortened(step.instances)} joined")


def _instead(state: RollState, watch: RollWatch, seen: GroupObservation) -> str:
    """Name the instances that have joined anew instead of those of the step."""
    others = replaced_instances(state, watch, seen)
    return f"; {shortened(others)}, which no command was to touch, joined anew" if others else ""


def _lives(watch: RollWatch, member_ids: Iterable[str]) -> bool:
    return any(watch.lasting.lives_after(watch, member_id) for member_id in member_ids)


def _second_process(state: RollState, watch: RollWatch, seen: GroupObservation, instance: str) -> GateResult | None:
    """Return what is said of an instance with more members than it has threads, or in several processes.

    One that has failed is counted until its session times out. So it is certain when all of them live.
    """
    expected = state.plan.members_of(instance)
    before = state.step.before.get(instance, ()) if state.step else ()
    members = [member for member in seen.of(instance) if member.member_id not in before]
    text = _of_processes(instance, members, expected)
    if text is None:
        return None
    alive = [member for member in members if _lives(watch, [member.member_id])]
    kind, wanted = DeviationKind.SECOND_PROCESS, f"{instance} is one process with {_members(expected)}"
    if _of_processes(instance, alive, expected):
        return failed("others", kind, text, wanted, instance)
    return waiting("others", kind, text, wanted, instances=(instance,))


def _of_processes(instance: str, members: Sequence[MemberSeen], expected: int) -> str | None:
    processes = {member.process for member in members}.difference({""})
    if len(members) <= expected and len(processes) <= 1:
        return None
    of = f" of {len(processes)} processes" if len(processes) > 1 else ""
    return f"{instance} has {_members(len(members))}{of} instead of {expected}"


def _gone_gate(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the instances that were stopped are not counted any more; after a round, every instance."""
    if not state.is_stopping:
        return None
    if not seen.state:
        return waiting("gone", None, AT_REST)
    instances = state.step.instances if state.step else state.plan.names
    there = [instance for instance in instances if seen.of(instance)]
    if there:
        text = f"{shortened(there)} still counted"
        by_hand = state.plan.verbs == (BY_HAND,)
        if state.step and not by_hand and _lives(watch, (one for name in there for one in seen.incarnations(name))):
            return failed("gone", DeviationKind.STILL_RUNNING, f"{text}, and live", "no members", *there)
        more = {"instances": tuple(there), "is_patient": by_hand}
        return waiting("gone", DeviationKind.STILL_RUNNING, text, "no members", **more)
    return passed("gone", f"{shortened(instances)} stopped" if state.step else "every instance is stopped")


def _config(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether each restarted instance is what the round makes it; after a round, every instance."""
    roll_round = state.round
    if roll_round is None or state.is_stopping:
        return None
    if state.step and _returned(state, watch, seen).status is not GateStatus.PASSED:  # type: ignore[union-attr]
        return waiting("config", None, "after it has joined")
    if not seen.is_stable:
        return waiting("config", None, AT_REST)
    instances = state.step.instances if state.step else state.plan.names
    may_be_stopped = state.step is not None and watch.waited(seen) < state.plan.limits.session_timeout_s
    ran = state.plan.target if state.is_going_back else state.plan.origin
    return _configs_judged(seen, instances, roll_round.config, roll_round.before, ran, may_be_stopped=may_be_stopped)


def _configs_judged(
    seen: GroupObservation,
    instances: Iterable[str],
    wanted: InstanceConfig,
    old: InstanceConfig,
    ran: str,
    *,
    may_be_stopped: bool,
) -> GateResult:
    """Judge the members of instances.

    A stopped member is counted until its session times out, and need not be one of before: it may have been silent and
    joined anew. Until then one that is as it was may be that.
    """
    hidden: dict[str, None] = {}
    for instance in instances:
        for member in seen.of(instance):
            if wrong := judge_member(member, wanted, old):
                kind, text = wrong
                expected = f"{instance} runs {wanted}"
                if may_be_stopped and judge_member(member, old, old) is None:
                    return waiting("config", kind, f"{instance}: {text}", expected, instances=(instance,))
                return failed("config", kind, f"{instance}: {text}", expected, instance)
            hidden.update(dict.fromkeys(_hidden(member, wanted, old, ran)))
    return passed("config", "; ".join([f"as {wanted}", *hidden]))


def judge_member(member: MemberSeen, wanted: InstanceConfig, old: InstanceConfig) -> tuple[DeviationKind, str] | None:
    """Return how a member differs from what it is to run; None if it can be that."""
    release, shown = wanted.resolved.release, member.releases
    if member.problem:
        return DeviationKind.OTHER_RELEASE, member.problem
    if not member.candidates.can_be(release):
        is_old = member.candidates.can_be(old.resolved.release)
        kind = DeviationKind.OLD_RELEASE if is_old else DeviationKind.OTHER_RELEASE
        return kind, f"it runs {shown}"
    pinned = release.pinned_version(wanted.upgrade_from)
    if pinned is not None and member.used_version != pinned:
        kind = DeviationKind.WRONG_VALUE if member.candidates.is_pinned else DeviationKind.MISSING_UPGRADE_FROM
        return kind, f"it sends version {member.used_version} instead of {pinned}"
    if pinned is None and not member.candidates.can_be_unpinned(release):
        kind = DeviationKind.WRONG_VALUE if wanted.upgrade_from else DeviationKind.VALUE_REMAINS
        return kind, f"it sends version {member.used_version}, as with upgrade.from"
    if member.protocol == "cooperative" and release.rebalance_protocol(wanted.upgrade_from) == "eager":
        return DeviationKind.MISSING_UPGRADE_FROM, "it rebalances cooperatively instead of eagerly"
    return None


def _hidden(member: MemberSeen, wanted: InstanceConfig, old: InstanceConfig, ran: str) -> Iterator[str]:
    """Say what the metadata of a member does not show, of which a release ran when the roll began or turned."""
    release, before = wanted.resolved.release, InstanceConfig(ran).resolved.release
    if release != before and member.candidates.can_be(before) and not member.candidates.is_pinned:
        yield f"its metadata does not tell {release} from {before}"
    elif any(other.line != release.line for other in member.candidates.unpinned or member.candidates.pinned):
        yield f"its metadata shows {member.releases}"
    if wanted.upgrade_from and wanted.upgrade_from not in PINNED_VERSIONS:
        yield "its metadata does not show upgrade.from"
    is_shown = member.protocol == "cooperative" and old.upgrade_from and implies_eager(old.upgrade_from)
    if not wanted.upgrade_from and old.upgrade_from and old.upgrade_from not in PINNED_VERSIONS and not is_shown:
        yield "its metadata does not show that upgrade.from is gone"


def _others(state: RollState, watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the instances that are not touched are there as they were; before a command, those that are to be there.

    Who is about to be touched has to be what the plan says, too: somebody else may have upgraded the group meanwhile.
    """
    if state.next_command and not _takes_away(state, seen, *state.next_command):
        return None
    if not seen.state:
        kind = DeviationKind.NOT_VISIBLE if state.next_command else None
        return waiting("others", kind, seen.problem if kind else AT_REST)
    touched = {*(state.step.instances if state.step else ())}
    wanted = [name for name in state.running if name not in touched and not state.is_stopping]
    if gone := [name for name in absent(state, seen) if name in wanted and name not in _given_up(state)]:
        counts = ((name, len(seen.of(name)), state.plan.members_of(name)) for name in gone)
        text = "; ".join(f"{name} has {there} of {_members(expected)}" for name, there, expected in counts)
        return waiting("others", DeviationKind.MEMBER_GONE, text, f"{shortened(gone)} there", instances=(*gone,))
    there = [name for name in state.running if name not in touched]
    if state.next_command:
        there = [] if state.is_going_back else [state.next_command[0]]
    if seen.is_stable:
        members = ((name, member) for name in there for member in seen.of(name))
        if wrong := {name: member.releases for name, member in members if not _is_as_planned(state, name, member)}:
            text = shortened([f"{name} runs {shown}" for name, shown in wrong.items()])
            expected = shortened([f"{name} runs {state.configs[name]}" for name in wrong])
            return failed("others", DeviationKind.OTHER_RELEASE, text, expected, *wrong)
    if state.next_command:
        return None
    if strangers := [member.label or member.member_id for member in seen.members if not member.instance]:
        text = f"{shortened(strangers)} is no instance of the plan"
        return failed("others", DeviationKind.FOREIGN_MEMBER, text, "the instances of the plan")
    seconds = (_second_process(state, watch, seen, name) for name in wanted)
    if second := next((found for found in seconds if found), None):
        return second
    text = "one other instance is there" if len(wanted) == 1 else f"{len(wanted)} other instances are there"
    return passed("others", text)


def _is_as_planned(state: RollState, name: str, member: MemberSeen) -> bool:
    """Whether a member beside a step can be what its instance was made.

    An instance that is still to be brought back may be the reason to go back. So it may be anything of the plan, and
    nothing else unless it was touched last: a group that has moved on since is not taken back unasked.
    """
    configs = {state.configs[name]}
    if state.is_going_back and name in state.remaining:
        configs |= {config for each in state.plan.rounds for config in (each.before, each.config)}
    is_suspect = state.is_going_back and name in state.suspects
    return is_suspect or any(member.candidates.can_be(config.resolved.release) for config in configs)


def _takes_away(state: RollState, seen: GroupObservation, instance: str, verb: str) -> bool:
    """Whether the next command takes away an instance that is there, and that disturbs nobody."""
    assert state.step
    is_away = instance in {*state.step.touched, *state.suspects, *absent(state, seen)}
    return verb != START and not is_away


def _given_up(state: RollState) -> frozenset[str]:
    """Return the instances whose turn comes on the way back, and that were gone when its present step began."""
    gone = state.step.absent if state.step else ()
    return frozenset(gone).intersection(state.remaining) if state.is_going_back else frozenset()


def absent(state: RollState, seen: GroupObservation) -> tuple[str, ...]:
    """Return the instances that have fewer members than they have threads, and are to be there."""
    is_short = (name for name in state.running if len(seen.of(name)) < state.plan.members_of(name))
    return tuple(is_short) if seen.state else ()


def _stable(state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult:
    expected = "a stable group"
    if not seen.state:
        return waiting("stable", None, AT_REST)
    if state.has_nobody:
        if seen.state in NO_MEMBERS:
            return passed("stable", seen.state)
        return waiting("stable", DeviationKind.NOT_STABLE, f"{seen.state}, and every instance is stopped", "no members")
    if not seen.is_stable:
        # Another gate names an empty group: an instance does not return, or is gone.
        kind = None if seen.state in NO_MEMBERS else DeviationKind.NOT_STABLE
        return waiting("stable", kind, seen.state, expected)
    if seen.epochs:
        return _reconciled(seen, seen.epochs)
    if rejoining := [member.label or member.member_id for member in seen.members if member.rejoins]:
        return waiting("stable", DeviationKind.NOT_STABLE, f"{shortened(rejoining)} about to rejoin", expected)
    return passed("stable", seen.state)


def _reconciled(seen: GroupObservation, epochs: GroupEpochs) -> GateResult:
    """Whether the assignment of a streams group and all its members have come to its epoch, none with tasks to come."""
    expected = f"assignment and members at epoch {epochs.group}"
    late = [f"{each.label} at {each.epoch}" for each in seen.members if each.epoch != epochs.group]
    late = late or [f"{each.label} has tasks to come or to revoke" for each in seen.members if each.rejoins]
    if epochs.assignment != epochs.group:
        late = [f"the assignment at {epochs.assignment}", *late]
    if late:
        return waiting("stable", DeviationKind.NOT_STABLE, f"epoch {epochs.group}: {shortened(late)}", expected)
    return passed("stable", f"{seen.state}, all at epoch {epochs.group}")


def _topology(state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    """Whether the members of a streams group have its topology: it gives tasks to no others."""
    if seen.epochs is None or state.has_nobody:
        return None
    wrong = {
        each.instance or each.label: f"{each.instance or each.label} has topology epoch {each.topology_epoch}"
        for each in seen.members
        if each.topology_epoch != seen.epochs.topology
    }
    expected = f"topology epoch {seen.epochs.topology}, that of the group"
    if wrong:
        return failed("topology", DeviationKind.TOPOLOGY, shortened([*wrong.values()]), expected, *wrong)
    return passed("topology", f"all have the topology of epoch {seen.epochs.topology}")


def _versions(state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    if state.has_nobody or seen.epochs:
        return None
    if not seen.is_stable:
        return waiting("versions", None, AT_REST)
    sent = tuple(sorted({member.used_version for member in seen.members if member.used_version is not None}))
    text = f"members send {_numbers(sent)}"
    # A forecast that is unsafe, or of another restart, is none of what an operator goes on with.
    outcomes = state.step.expectation.outcomes if state.step and not state.step.unchecked else ()
    if outcomes:
        predicted = sorted({outcome.versions for outcome in outcomes})
        if sent in predicted:
            return passed("versions", f"{text}, as forecast")
        expected = f"one of {' or '.join(map(_numbers, predicted))}, as forecast"
        return waiting("versions", DeviationKind.VERSIONS, text, expected)
    common = least_supported(state.configs[name] for name in state.running)
    if above := [version for version in sent if version > common]:
        expected = f"no version above {common}, which all members read"
        return waiting("versions", DeviationKind.VERSIONS, f"members send {_numbers(above)}", expected)
    return passed("versions", f"{text}, which all members read")


def least_supported(configs: Iterable[InstanceConfig]) -> int:
    """Return the highest version that members of all these releases read."""
    return min(config.resolved.release.supported_version for config in configs)


def _no_probing(state: RollState, _watch: RollWatch, seen: GroupObservation) -> GateResult | None:
    if state.has_nobody or seen.epochs:
        return None
    scheduled = [member.label or member.member_id for member in seen.members if member.is_scheduled]
    if scheduled:
        text = f"a probing rebalance of {shortened(scheduled)} is scheduled"
        return waiting("probing", DeviationKind.PROBING, text, "no probing rebalance")
    return passed("probing", "no probing rebalance is scheduled")


_AFTER: Final = frozenset({GatePhase.AFTER})
_AT_BOTH: Final = frozenset({GatePhase.BEFORE, GatePhase.AFTER})
_DONE: Final = frozenset({GatePhase.AFTER, GatePhase.ROUND})

GROUP_GATES: Final = (
    RollGate("visible", "the group, with a description", "nothing is done blindly", "--timeout", EVERY_PHASE, _visible),
    RollGate(
        "crash-loop",
        "joins of an instance since its last command, with three times its threads",
        "an instance that fails again and again makes the group rebalance each time",
        "",
        EVERY_PHASE,
        no_crash_loop,
    ),
    RollGate(
        "owners",
        "active tasks of members, with each other",
        "two owners process records twice",
        "",
        EVERY_PHASE,
        _two_owners,
    ),
    RollGate(
        "static",
        "the versions that members send, with what a static member reads that is to start",
        "within its session it gets its last assignment, also if the older release cannot read it",
        "--timeout",
        frozenset({GatePhase.COMMAND}),
        static_gate,
    ),
    RollGate(
        "returned",
        "member ids of the instance, with those before its command",
        "a stopped member is counted until its session times out, so that a stable group shows nothing; after that it "
        "lives",
        "--timeout",
        _AFTER,
        _returned,
    ),
    RollGate(
        "gone",
        "members of stopped instances, with none",
        "old and new members must not meet",
        "--timeout",
        _DONE,
        _gone_gate,
    ),
    RollGate(
        "config",
        "versions and protocol of a member, with its release and upgrade.from",
        "the old release (after a session: until then it may be the stopped member), a missing or another "
        "upgrade.from; after a round, of every instance",
        "",
        _DONE,
        _config,
    ),
    RollGate(
        "others",
        "the other instances, with what they were, and with one process each",
        "a leader that failed, an instance that somebody else has changed, a second copy, a stranger; before each "
        "command of a batch, that none is gone meanwhile, and that its instance is what it was",
        "--timeout",
        frozenset(GatePhase),
        _others,
    ),
    RollGate(
        "replaced",
        "member ids of the other instances, with those that they had",
        "an instance of an earlier step that fails is started again, by whatever starts it, before anybody looks",
        "",
        EVERY_PHASE,
        not_replaced,
    ),
    RollGate(
        "unowned",
        "the longest time of a task without owner since the step began, with the limit",
        "nobody processes its records",
        "--max-unowned",
        _AT_BOTH,
        unowned,
    ),
    RollGate(
        "stable",
        "the state of the group, with Stable and no member about to rejoin; in a streams group also the epochs of "
        "assignment and members, with that of the group, and their tasks with the target",
        "the rebalances of the step are over",
        "--timeout",
        EVERY_PHASE,
        _stable,
    ),
    RollGate(
        "topology",
        "in a streams group: the topology epoch of each member, with that of the group",
        "a member with another topology gets no tasks",
        "",
        EVERY_PHASE,
        _topology,
    ),
    RollGate(
        "versions",
        "the versions that members send, with the forecast, or with what all members read",
        "a version that a member cannot read ends it",
        "--timeout",
        _AFTER,
        _versions,
    ),
    RollGate(
        "probing",
        "scheduled rebalances, with none",
        "tasks warm up until then, and the next step would interrupt it",
        "--timeout",
        _AT_BOTH,
        _no_probing,
    ),
    RollGate(
        "lag",
        "of each task, end offsets of its changelogs, with what its owner had of them when it joined; then commits",
        "a store is restored before its task goes on",
        "--max-lag",
        _AT_BOTH,
        lag,
    ),
    RollGate(
        "commits",
        "committed offsets, with the first ones after the commands with the same owner",
        "a member can be stable and process nothing",
        "--timeout",
        _AFTER,
        commits,
    ),
    RollGate(
        "ready",
        "the status of the operator's probe, with 0",
        "no broker shows whether an instance does its work",
        "--ready",
        _AFTER,
        is_ready,
    ),
    RollGate(
        "alive",
        "how long an instance has lived for sure since it joined, with the soak time; after a round, of all a session",
        "a member that has died is counted until its session times out; commits, the probe, or a session show its life",
        "--soak",
        _DONE,
        lives_on,
    ),
)


def happened(state: RollState, instance: str, verb: str, seen: GroupObservation) -> bool | None:
    """Whether a restart, a stop or a start whose end nobody saw has done its work."""
    assert state.step
    ids, before = seen.incarnations(instance), frozenset(state.step.before.get(instance, ()))
    if verb == STOP:
        return True if seen.state and not ids else None
    return True if ids and not ids & before else None


def observed(state: RollState, watch: RollWatch, seen: GroupObservation) -> Mapping[str, Any]:
    """Return what came of a step: versions, moved tasks, times, and whether a forecast has it."""
    assert state.step
    before, now = state.step.owners, seen.owners()
    moved = {task: now.get(task, "") for task, owner in sorted(before.items()) if now.get(task, "") != owner}
    outcomes = state.step.expectation.outcomes
    times, ended_at = watch.memory.times, watch.memory.ended_at
    longest, is_unknown = times.longest_s(seen.seconds), state.step.seconds_before is None
    # An owner stops after the look at which the time begins, and another one has the task before that of its end.
    at_least = max(0.0, longest - 2 * times.longest_gap_s)
    return {
        "versions": sorted({member.used_version for member in seen.members if member.used_version is not None}),
        **({"epoch": seen.epochs.group} if seen.epochs else {}),
        "moved": moved,
        # When an operator stops an instance by hand no look shows, nor a clock that has jumped.
        "unowned_seconds": None if BY_HAND in state.plan.verbs or is_unknown else round(longest, 1),
        "unowned_seconds_at_least": round(at_least, 1),
        "unowned_seconds_forecast": sorted({outcome.unowned_s for outcome in outcomes}),
        "seconds": 0.0 if ended_at is None else round(seen.seconds - ended_at, 1),
        "input_lag": _input_lag(seen.offsets),
        "input_lag_before": _input_lag(watch.memory.offsets),
        "replaced": list(replaced_instances(state, watch, seen)),
        "as_forecast": any(dict(outcome.moved) == moved for outcome in outcomes) if outcomes else None,
    }


def _input_lag(offsets: Mapping[str, PartitionOffsets] | None) -> int | None:
    """Return how many records are not committed; None: not known."""
    return None if offsets is None else sum(each.lag or 0 for each in offsets.values())


GROUP_RULES: Final = RollRules(
    GROUP_GATES, remember, follow, happened, lambda seen: seen.leader, absent, observed, joins, renew
)
"""The rules of a roll of a group of Kafka Streams."""


# -- words -----------------------------------------------------------------------------------------------------------


def _members(number: int) -> str:
    return f"{number} member{'s' * (number != 1)}"


def _numbers(versions: Sequence[int]) -> str:
    return f"version {', '.join(map(str, versions))}" if versions else "no version"
