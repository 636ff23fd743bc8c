"""Replays a capture with simulated members, generation by generation, under the captured schedule and leaders.

There are two replays. *Step by step*: our leader reads the captured subscriptions and our members receive the captured
assignments, so a difference in one generation does not affect the next one. *End to end*: our own messages travel from
the first generation to the last. Only the members, the leaders, the missed assignments and the missing topics come from
the capture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from streams_assignor import FatalError
from streams_assignor.codec import TaskId
from streams_assignor.groups.capture import Capture, GenerationRecord
from streams_assignor.spark_sim.conformance._compare import (
    active_owner_counts,
    assignment_differences,
    comparable_facts,
    group_differences,
    may_assign_warmups,
    same_tasks,
    subscription_differences,
)
from streams_assignor.spark_sim.conformance._environment import Environment
from streams_assignor.spark_sim.conformance._failures import (
    failures_in_missing_generations,
    final_failure,
    mark_subtopology_mismatches,
)
from streams_assignor.spark_sim.conformance._identity import Incarnation, IncarnationsByGeneration
from streams_assignor.spark_sim.conformance._twin import Twin
from streams_assignor.spark_sim.conformance.messages import (
    SubscriptionMessage,
    UnreadableMessage,
    decode_assignment_message,
    decode_subscription_message,
)
from streams_assignor.spark_sim.conformance.result import GenerationReplay, MemberReplay, SimulatedFailure
from streams_assignor.upgrade.errors import UpgradeError

_MAX_REBALANCES: Final = 10
"""Enough rebalances for a group that becomes stable at all: a task moves in two."""


class Replay:
    """One replay of a capture: iterate over ``generations`` once, then read the attributes.

    With ``step_by_step``, the finished replay of that kind of the same capture, the replay is end to end.
    """

    missed_assignments: set[tuple[int, Incarnation]]
    """Generations and members whose assignment did not reach the member."""
    failures: list[SimulatedFailure]

    def __init__(
        self,
        capture: Capture,
        incarnations: IncarnationsByGeneration,
        environment: Environment,
        step_by_step: Replay | None = None,
    ) -> None:
        self._capture: Final = capture
        self._incarnations: Final = incarnations
        self._environment: Final = environment
        self._end_to_end: Final = step_by_step is not None
        self._twins: dict[Incarnation, Twin] = {}
        self._stored_tasks: dict[str, frozenset[TaskId]] = {}
        self._end_offsets: dict[TaskId, int] = {}
        self._last_assignments: dict[str, bytes] = {}
        self.missed_assignments = set() if step_by_step is None else step_by_step.missed_assignments
        self.failures = []

    def generations(self) -> Iterator[GenerationReplay]:
        """Replay one generation after the other."""
        for at, generation in enumerate(self._capture.generations):
            if at and not self._end_to_end:
                self._collect_failures_before(at)
            yield self._replay_generation(at, generation)
            self._collect_final_failures(at)

    @property
    def rejoining_members(self) -> list[Twin]:
        """Our members that want to rejoin immediately when the capture ends."""
        twins = (
            [self._twins[incarnation] for incarnation in self._incarnations[-1].values()] if self._incarnations else []
        )
        return [twin for twin in twins if not twin.failure and twin.received and twin.received.rejoin]

    def settle(self, last: GenerationReplay) -> Counter[TaskId] | None:
        """Rebalance the members of the last generation until nothing changes; return the number of owners of each task.

        None if the result is unknown: a member or the leader is not known, or the leader may assign warm-ups. Empty if
        the leader fails.
        """
        twins = {part.record.member_id: self._twins[part.incarnation] for part in last.members}
        leading = next((part.incarnation for part in last.members if part.is_leader), None)
        if (
            leading is None
            or leading.started_as is None
            or may_assign_warmups(leading.started_as, self._environment.max_offset_sum)
        ):
            return None
        leader = self._twins[leading].assignor
        captured = {part.record.member_id: part.subscription for part in last.members}
        owners: list[Counter[TaskId]] = []
        while leader and (len(owners) < 2 or owners[-1] != owners[-2]) and len(owners) < _MAX_REBALANCES:
            subscriptions = {
                member: encoded
                for member, twin in twins.items()
                if isinstance(sent := captured[member], SubscriptionMessage)
                and (encoded := twin.join(last.number, sent))
            }
            if len(subscriptions) < len(twins):
                return None
            try:
                assignments = leader.assign(
                    self._environment.cluster(len(self._incarnations) - 1, self._end_offsets), subscriptions
                )
            except FatalError:
                return Counter()
            for member, twin in twins.items():
                twin.on_assignment(last.number, assignments.get(member, b""))
            owners.append(active_owner_counts(decode_assignment_message(encoded) for encoded in assignments.values()))
        return owners[-1] if owners else None

    # -- one generation ----------------------------------------------------------------------------------------------

    def _replay_generation(self, at: int, record: GenerationRecord) -> GenerationReplay:
        generation = GenerationReplay(record.number, self._members(at, record))
        joining = [part for part in generation.members if self._joins(at, part)]
        subscriptions = {part.record.member_id: self._join(at, generation, part) for part in joining}
        if not record.has_assignments or not joining:
            return generation
        assignments = (
            self._assign_to_static_members(generation, joining)
            if self._is_rewritten(at)
            else self._lead(at, generation, subscriptions)
        )
        for part in joining:
            self._deliver(generation, part, assignments)
        if not self._end_to_end:
            mark_subtopology_mismatches(generation, joining, self._environment.topology, self._twins)
        return generation

    def _members(self, at: int, generation: GenerationRecord) -> list[MemberReplay]:
        by_member_id = self._incarnations[at]
        return [
            MemberReplay(
                incarnation=by_member_id[record.member_id],
                record=record,
                is_leader=record.member_id == generation.leader,
                subscription=decode_subscription_message(record.subscription),
                assignment=decode_assignment_message(record.assignment),
            )
            for record in sorted(generation.members, key=lambda record: by_member_id[record.member_id].name)
        ]

    def _joins(self, at: int, part: MemberReplay) -> bool:
        """Whether the record shows a join of the member.

        A generation that is written again without an assignment by the leader shows only the join of the static member
        that came back in time (KIP-345).
        """
        return not self._is_rewritten(at) or part.incarnation not in self._incarnations[at - 1].values()

    def _is_rewritten(self, at: int) -> bool:
        """Whether the record has the same generation as the one before."""
        return at > 0 and self._capture.generations[at - 1].number == self._capture.generations[at].number

    # -- joining -----------------------------------------------------------------------------------------------------

    def _join(self, at: int, generation: GenerationReplay, part: MemberReplay) -> bytes:
        """Join with the twin of a member and compare; return the subscription that our leader reads."""
        captured = part.record.subscription
        twin = self._twins.get(part.incarnation) or self._start(generation, part.incarnation)
        if isinstance(part.subscription, UnreadableMessage):
            generation.notes.append(f"{part.incarnation} is not compared: {part.subscription.reason}")
            return captured
        if self._broker_kept_subscription(at, part):
            generation.notes.append(f"{part.incarnation} was away: the broker kept the subscription of a static member")
            return captured
        for task, offset_sum in part.subscription.offset_sums.items():
            self._end_offsets[task] = max(self._end_offsets.get(task, 0), offset_sum)
        if not self._end_to_end and twin.missed_assignment(part.subscription):
            generation.notes.append(
                f"{part.incarnation} had not received the assignment of generation {twin.answered_generation}"
            )
            self.missed_assignments.add((twin.answered_generation, part.incarnation))
            twin.undo_assignment()
        if twin.failure:
            ours = f"failed in generation {twin.failure.generation}: {twin.failure.error}"
            generation.add_difference(part.incarnation.name, ("sends", str(part.subscription), ours), twin.history)
            twin.stop_comparing()
        if twin.assignor is None:
            return captured
        history = twin.history
        findings = (
            []
            if self._end_to_end
            else list(twin.inconsistencies(part.subscription, part.record, self._kept_member_id(at, part)))
        )
        encoded = twin.join(generation.number, part.subscription)
        if encoded is None:
            assert twin.failure is not None, "a known member joins or fails; this should never happen"
            findings.append(("sends", str(part.subscription), f"fails: {twin.failure.error}"))
            twin.stop_comparing()
        else:
            part.our_subscription = decode_subscription_message(encoded)
            findings += subscription_differences(part.subscription, part.our_subscription)
        for finding in findings:
            generation.add_difference(part.incarnation.name, finding, history)
        return encoded if self._end_to_end and encoded else captured

    def _start(self, generation: GenerationReplay, incarnation: Incarnation) -> Twin:
        stored = self._stored_tasks.get(incarnation.client_key, frozenset())
        try:
            twin = Twin.start(incarnation, self._environment.topology, stored)
        except UpgradeError as error:
            twin = Twin.not_started(incarnation, generation.number, error)
        if twin.assignor is None and not twin.failure:
            generation.notes.append(f"{incarnation} is not compared: no known release sends such a subscription")
        self._twins[incarnation] = twin
        return twin

    def _kept_member_id(self, at: int, part: MemberReplay) -> bool:
        """Whether the record before has the member under the same member id."""
        return at > 0 and self._incarnations[at - 1].get(part.record.member_id) is part.incarnation

    def _broker_kept_subscription(self, at: int, part: MemberReplay) -> bool:
        """Whether a static member has not joined, so that the broker repeats the bytes of the record before."""
        before = self._capture.generations[at - 1].members if at and part.record.group_instance_id else ()
        return any(
            record.member_id == part.record.member_id and record.subscription == part.record.subscription
            for record in before
        )

    # -- assigning ---------------------------------------------------------------------------------------------------

    def _lead(self, at: int, generation: GenerationReplay, subscriptions: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Assign with our leader and compare; return the assignments, the captured ones without a leader of ours."""
        captured = {part.record.member_id: part.record.assignment for part in generation.members}
        leader = next((part for part in generation.members if part.is_leader), None)
        twin = self._twins[leader.incarnation] if leader else None
        if leader is None or twin is None or twin.assignor is None or leader.incarnation.started_as is None:
            generation.notes.append("assignments are not compared: the leader is not known")
            return captured
        if at == 0 and leader.incarnation.resumed:
            # The record may be a later one of the same generation: a static member has come back since.
            generation.notes.append("assignments are not compared: the excerpt begins with this generation")
            return captured
        step = leader.incarnation.started_as
        received = ", ".join(
            f"{part.incarnation.name} {'?' if isinstance(part.subscription, UnreadableMessage) else part.subscription}"
            for part in generation.members
        )
        why = f"{leader.incarnation} leads as {step.text} (rules {step.release.rule_set}), and received {received}"
        try:
            assignments = twin.assignor.assign(self._environment.cluster(at, self._end_offsets), subscriptions)
        except FatalError as error:
            generation.add_difference(
                leader.incarnation.name, ("as leader", "assigns to every member", f"fails: {error}"), why
            )
            return captured
        captured_tasks = active_owner_counts(part.assignment for part in generation.members)
        conditions = (
            ()
            if self._end_to_end
            else comparable_facts(
                step,
                [part.subscription for part in generation.members],
                self._environment.max_offset_sum,
                fewer_tasks_than_members=len(captured_tasks) < len(generation.members),
            )
        )
        for part in generation.members:
            part.our_assignment = decode_assignment_message(assignments.get(part.record.member_id, b""))
            for finding in assignment_differences(part.assignment, part.our_assignment, conditions):
                generation.add_difference(part.incarnation.name, finding, why)
        our_tasks = active_owner_counts(part.our_assignment for part in generation.members)
        for finding in group_differences(captured_tasks, our_tasks, conditions):
            generation.add_difference("", finding, why)
        generation.same_tasks = all(same_tasks(part.assignment, part.our_assignment) for part in generation.members)
        return assignments

    def _assign_to_static_members(
        self, generation: GenerationReplay, joining: Sequence[MemberReplay]
    ) -> Mapping[str, bytes]:
        """Return the last assignments of static members that came back in time."""
        names = " and ".join(part.incarnation.name for part in joining)
        generation.notes.append(f"{names} came back as a static member: no rebalance was needed")
        assignments = {
            part.record.member_id: self._last_assignments.get(part.incarnation.client_key, b"") for part in joining
        }
        for part in joining:
            part.our_assignment = decode_assignment_message(assignments[part.record.member_id])
            for finding in assignment_differences(part.assignment, part.our_assignment):
                generation.add_difference(
                    part.incarnation.name,
                    finding,
                    "a static member that comes back in time receives its last assignment",
                )
        return assignments

    def _deliver(self, generation: GenerationReplay, part: MemberReplay, assignments: Mapping[str, bytes]) -> None:
        encoded = assignments.get(part.record.member_id, b"") if self._end_to_end else part.record.assignment
        self._last_assignments[part.incarnation.client_key] = encoded
        twin = self._twins[part.incarnation]
        if encoded and not (self._end_to_end and (generation.number, part.incarnation) in self.missed_assignments):
            twin.on_assignment(generation.number, encoded)
        self._stored_tasks[part.incarnation.client_key] = twin.stored_tasks

    # -- failures ----------------------------------------------------------------------------------------------------

    def _collect_final_failures(self, at: int) -> None:
        """Collect the failures of members without a later record."""
        next_generation = self._capture.generations[at].number + 1 if at + 1 < len(self._incarnations) else None
        for incarnation in self._incarnations[at].values():
            if incarnation.last_index == at and (
                failure := final_failure(self._twins[incarnation], at, next_generation)
            ):
                self.failures.append(failure)

    def _collect_failures_before(self, at: int) -> None:
        """Collect the failures of leaders in the generations that are missing before this record."""
        if self._incarnations[at - 1]:
            self.failures += failures_in_missing_generations(
                at,
                (self._capture.generations[at - 1], self._incarnations[at - 1]),
                (self._capture.generations[at], self._incarnations[at]),
                self._twins,
                self._environment.cluster(at, self._end_offsets),
            )
