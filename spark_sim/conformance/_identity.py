"""Identifies the members of a capture across member ids, and the release that each of them runs.

An *incarnation* is one member from its start to its end: one ``StreamsPartitionAssignor`` object. A member that rejoins
stays the same incarnation, although up to 2.5 it may rejoin under a new member id; a restart begins another one. Rules:

1. Records with the same ``group.instance.id``, or else the same client id, may be the same member.
2. Another process id is another incarnation. (Before 2.8 each start creates a process id; later it is stored on disk.)
3. The same process id and member id are the same incarnation. With another member id it is a restart if a running
   member cannot have sent the subscription: another supported version, a change between versions below 3 and others,
   or a counter of subscriptions (version 8 and later) that does not continue.
4. The release is that of the matching start. If an instance has as many starts as incarnations, they match in order;
   else it is the last start before the first stable snapshot with the incarnation. With fewer starts than incarnations
   some start has no snapshot, so the next step that fits is taken if that one does not. Without snapshots the
   incarnations of a client take the steps in order, as far as version and consumer protocol fit. Without steps, the
   newest release that fits is a guess until ``step_inference`` has compared later messages.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import define, evolve, field, frozen

from streams_assignor.groups import DescribedGroupMember
from streams_assignor.groups.capture import Capture, GenerationRecord, InvalidCapture, StartSnapshot
from streams_assignor.spark_sim.conformance.messages import (
    SubscriptionMessage,
    UnreadableMessage,
    decode_subscription_message,
)
from streams_assignor.upgrade.config_keys import CONFIG_KEYS, TAG_PREFIX
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.release_behaviour import UPGRADE_FROM
from streams_assignor.upgrade.releases import RELEASES, Release, release_named
from streams_assignor.upgrade.streams_config import StreamsConfig

# The records identify static members; in a step of several instances the value may be a template.
_KEYS: Final = CONFIG_KEYS.keys() - {"group.instance.id"}
_TASK_ASSIGNORS: Final = {"task.assignor.class", "internal.task.assignor.class"}
_THREAD: Final = re.compile(r"-StreamThread-(\d+)(-consumer)?$")


@frozen
class StartedAs:
    """The release and configuration that a member was started with."""

    text: str
    """The step as the capture has it."""
    release: Release
    config: StreamsConfig
    custom_task_assignor: bool = False
    """Whether another task assignor than the release's default is configured."""

    @classmethod
    def parse(cls, text: str) -> StartedAs:
        """Parse ``2.4.1,upgrade.from=2.3``; settings that do not affect rebalancing are ignored."""
        name, *settings = text.split(",")
        pairs = dict(setting.split("=", 1) for setting in settings if "=" in setting)
        try:
            config = StreamsConfig.of({key: pairs[key] for key in pairs if key in _KEYS or key.startswith(TAG_PREFIX)})
            return cls(text, release_named(name), config, custom_task_assignor=not _TASK_ASSIGNORS.isdisjoint(pairs))
        except UpgradeError as error:
            raise InvalidCapture(f"step {text!r}: {error}") from error

    def can_have_sent(self, sent: SubscriptionMessage | UnreadableMessage) -> bool:
        """Whether a member that has just been started with this can have sent a subscription."""
        if isinstance(sent, UnreadableMessage):
            return False
        latest = sent.supported_version if sent.is_probeable else self.release.supported_version
        pinned = self.release.pinned_version(self.config.upgrade_from)
        return (
            latest == self.release.supported_version
            and self.release.behaviour.consumer_protocol_version == sent.consumer_protocol_version
            and (
                sent.used_version <= latest
                if sent.is_probeable and not pinned
                else sent.used_version == (pinned or latest)
            )
        )

    @property
    def behaviour(self) -> object:
        """A key that is equal for two steps that no replay can distinguish, apart from standbys and tags."""
        release, value = self.release, self.config.upgrade_from
        return (
            release.rule_set,
            release.behaviour.task_columns,
            release.supported_version,
            release.pinned_version(value),
            release.rebalance_protocol(value),
            release.task_assignor,
        )


@define(eq=False)
class Incarnation:
    """One incarnation of a member."""

    client_key: str
    """Identifies the client across incarnations (rule 1)."""
    client_id: str
    number: int
    """Counts the incarnations of the same client."""
    process_id: UUID | None
    member_ids: set[str]
    first_index: int
    """The index in the capture of the first generation."""
    last_index: int
    """The index in the capture of the last generation."""
    last_subscription: SubscriptionMessage | UnreadableMessage
    first_subscription: SubscriptionMessage | UnreadableMessage
    name: str = ""
    """The name in output."""
    started_as: StartedAs | None = field(default=None)
    """None if unknown."""
    guessed: bool = False
    """Whether the capture does not give ``started_as``."""
    resumed: bool = False
    """Whether its start is not in the capture, so that its state is that of its first subscription."""

    def is_same_incarnation(self, record: DescribedGroupMember, sent: SubscriptionMessage | UnreadableMessage) -> bool:
        """Whether a record is the same incarnation (rule 3), given the same client and process."""
        if record.member_id in self.member_ids:
            return True
        if isinstance(sent, UnreadableMessage) or isinstance(self.last_subscription, UnreadableMessage):
            return False
        before = self.last_subscription
        if sent.supported_version != before.supported_version or sent.is_probeable != before.is_probeable:
            return False
        if sent.unique_field is None:
            return True
        goes_on = before.unique_field is not None and 0 < (sent.unique_field - before.unique_field) % 256 < _HALF_RANGE
        return goes_on and sent.unique_field not in _FIRST_COUNTS

    def with_reported_config(self, step: StartedAs) -> StartedAs:
        """Return a step with the configuration that the member reports in its first subscription."""
        return _with_reported_config(step, self.first_subscription)

    def __str__(self) -> str:
        return self.name


_HALF_RANGE: Final = 128
_FIRST_COUNTS: Final = {1, 2}
"""First counter values of a restarted member: since 2.2 a broker requires each new member to join twice."""

IncarnationsByGeneration = Sequence[Mapping[str, Incarnation]]
"""For each generation of a capture, the incarnation of each member id."""


def identify_members(capture: Capture) -> IncarnationsByGeneration:
    """Identify the incarnations and their releases.

    Raises:
        InvalidCapture: a step is not a release with a valid configuration.
    """
    client_incarnations: dict[str, list[Incarnation]] = {}
    incarnations = [
        {
            record.member_id: _incarnation_of(client_incarnations.setdefault(_client_key(record), []), record, at)
            for record in generation.members
        }
        for at, generation in enumerate(capture.generations)
    ]
    steps = {
        text: StartedAs.parse(text) for text in (*capture.steps, *(snapshot.step for snapshot in capture.snapshots))
    }
    shown = snapshot_generations(capture)
    for client, its in client_incarnations.items():
        _name_incarnations(client, its, incarnations)
        chosen = (
            _by_snapshots(capture, shown, steps, its) if capture.snapshots else _by_order(capture.steps, steps, its)
        )
        for incarnation, text in zip(its, chosen, strict=True):
            incarnation.started_as = steps[text] if text else next(open_steps(incarnation.first_subscription), None)
            incarnation.started_as = incarnation.started_as and incarnation.with_reported_config(incarnation.started_as)
            incarnation.guessed = not text
    return incarnations


def _client_key(record: DescribedGroupMember) -> str:
    """Return the key that identifies a member across member ids (rule 1)."""
    return record.group_instance_id or record.client_id or re.sub(r"-[0-9a-f-]{36}$", "", record.member_id)


def _incarnation_of(client_incarnations: list[Incarnation], record: DescribedGroupMember, at: int) -> Incarnation:
    sent = decode_subscription_message(record.subscription)
    process_id = sent.process_id if isinstance(sent, SubscriptionMessage) else None
    for incarnation in reversed(client_incarnations):
        if incarnation.process_id == process_id and incarnation.is_same_incarnation(record, sent):
            incarnation.member_ids.add(record.member_id)
            incarnation.last_index, incarnation.last_subscription = at, sent
            return incarnation
    client = _client_key(record)
    incarnation = Incarnation(
        client,
        record.client_id or client,
        len(client_incarnations) + 1,
        process_id,
        {record.member_id},
        at,
        at,
        sent,
        sent,
    )
    client_incarnations.append(incarnation)
    return incarnation


def _name_incarnations(
    client: str, client_incarnations: Sequence[Incarnation], incarnations: IncarnationsByGeneration
) -> None:
    """Set short names that differ within each generation."""
    short = _THREAD.sub(lambda match: "" if match[1] == "1" else f"-{match[1]}", client)
    ambiguous = any(
        len([incarnation for incarnation in by_id.values() if incarnation.client_key == client]) > 1
        for by_id in incarnations
    )
    for incarnation in client_incarnations:
        incarnation.name = f"{short} ({str(incarnation.process_id)[:8]})" if ambiguous else short


def resume_members(incarnations: IncarnationsByGeneration) -> None:
    """Mark the members of an excerpt whose start is not in it.

    Those are the members of its first generation, and members with tasks whose last record is before it: a member that
    was thrown out and comes back.
    """
    for at, by_member_id in enumerate(incarnations):
        for incarnation in by_member_id.values():
            if incarnation.first_index == at:
                incarnation.resumed = at == 0 or has_tasks(incarnation.first_subscription)


def has_tasks(sent: SubscriptionMessage | UnreadableMessage) -> bool:
    """Whether a subscription is of a member that has run tasks since its start."""
    return isinstance(sent, SubscriptionMessage) and bool(sent.previous_active or sent.owned_partitions)


# -- releases (rule 4) -----------------------------------------------------------------------------------------------


def snapshot_generations(capture: Capture) -> list[int]:
    """Return the index of the generation of each snapshot: the last one with the same members."""
    indexes: list[int] = []
    for snapshot in capture.snapshots:
        reached = indexes[-1] if indexes else -1
        shown = [
            at for at, generation in enumerate(capture.generations) if at > reached and _shows(snapshot, generation)
        ]
        indexes.append(shown[-1] if shown else reached)
    return indexes


def simultaneous_starts(capture: Capture, number: int) -> Iterator[StartSnapshot]:
    """Yield the snapshots of simultaneous starts: from this one on, those with the same members."""
    members = capture.snapshots[number].member_ids
    return itertools.takewhile(lambda snapshot: snapshot.member_ids == members, capture.snapshots[number:])


def _shows(snapshot: StartSnapshot, generation: GenerationRecord) -> bool:
    return snapshot.member_ids == {record.member_id for record in generation.members}


def _by_snapshots(
    capture: Capture, shown: Sequence[int], steps: Mapping[str, StartedAs], client_incarnations: Sequence[Incarnation]
) -> Iterator[str]:
    starts = [
        snapshot.step for snapshot in capture.snapshots if snapshot.is_started_client(client_incarnations[0].client_id)
    ]
    if len(starts) == len(client_incarnations):  # a snapshot taken too early shows the group before the start
        yield from starts
        return
    for incarnation in client_incarnations:
        first = next((number for number, place in enumerate(shown) if incarnation.first_index <= place), len(shown) - 1)
        before = [*capture.snapshots[:first], *simultaneous_starts(capture, first)]
        own_steps = [snapshot.step for snapshot in before if snapshot.is_started_client(incarnation.client_id)]
        text = own_steps[-1] if own_steps else before[-1].step
        yield (
            _first_fitting(steps, text, incarnation.first_subscription)
            if len(starts) < len(client_incarnations)
            else text
        )


def _first_fitting(steps: Mapping[str, StartedAs], text: str, first: SubscriptionMessage | UnreadableMessage) -> str:
    """Return a step, or the next one that fits if it does not: not every start has a snapshot."""
    texts = list(steps)
    in_turn = texts[texts.index(text) :] + texts
    return next((candidate for candidate in in_turn if steps[candidate].can_have_sent(first)), text)


def _by_order(
    texts: Sequence[str], steps: Mapping[str, StartedAs], client_incarnations: Iterable[Incarnation]
) -> Iterator[str | None]:
    reached = -1
    for incarnation in client_incarnations:
        later = range(reached + 1, len(texts))
        fitting = [at for at, text in enumerate(texts) if steps[text].can_have_sent(incarnation.first_subscription)]
        # A group that is downgraded may list each release once.
        back = [at for at in fitting if at not in later][-1:] if not set(fitting).intersection(later) else []
        reached = min([*(back or set(fitting).intersection(later) or later), len(texts) - 1])
        yield texts[reached] if texts else None


def open_steps(
    first: SubscriptionMessage | UnreadableMessage, preferred: Collection[Release] = ()
) -> Iterator[StartedAs]:
    """Yield the possible steps of an incarnation by its first subscription, one of those that behave the same.

    Releases in ``preferred`` come first, then newer ones; each without upgrade.from before with it.
    """
    released = [release for release in reversed(list(RELEASES.values())) if release.is_released]
    in_turn = sorted(released, key=lambda release: release not in preferred)
    behaviours: set[object] = set()
    for value in (None, *reversed(UPGRADE_FROM)):
        for release in in_turn:
            if value is not None and not release.can_start_with(value):
                continue
            text = f"{release.name},upgrade.from={value}" if value else release.name
            step = StartedAs(text, release, StreamsConfig(upgrade_from=value))
            if step.behaviour not in behaviours and step.can_have_sent(first):
                behaviours.add(step.behaviour)
                yield step


def _with_reported_config(step: StartedAs, first: SubscriptionMessage | UnreadableMessage) -> StartedAs:
    """Return a step with the configuration that a subscription reports."""
    if isinstance(first, UnreadableMessage):
        return step
    config = step.config
    try:
        reported = evolve(
            config,
            application_server=first.seen.user_end_point or config.application_server,
            client_tags=first.seen.client_tags or config.client_tags,
        )
        return evolve(step, config=reported)
    except UpgradeError:  # an invalid value of a foreign member; leaders ignore it
        return step
