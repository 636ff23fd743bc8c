"""Captured groups of real members are paths of the abstract graph of groups of any size."""

import json
from functools import cache
from pathlib import Path

import pytest

from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.conformance.verdict import check_conformance
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.packed import UpgradeCell
from streams_assignor.spark_sim.packed.any_size import AnySize, explore_any_size
from streams_assignor.spark_sim.packed.process_state import COMPLETING, JOINED
from streams_assignor.spark_sim.packed.tables.protocol_table import Reaction
from streams_assignor.spark_sim.packed.view import PHASE
from streams_assignor.spark_sim.search.views import close, members
from streams_assignor.upgrade.plans import Plan, Upgrade

TESTS = Path(__file__).parents[2]
CAPTURES = {path.stem: path for path in TESTS.glob("**/captures/*.json") if "lab" not in path.parts}
UNSAFE = {
    "0.10.0.1-to-0.10.1.1-kafka-6054",
    "1.1.1-to-2.0.1-without-upgrade-from-leader-last",
    "2.0.1-to-2.2.0-leader-last-kafka-8649-two-subtopologies",
    "2.1.1-to-2.0.1-downgrade-kafka-8649",
    "2.3.1-to-2.4.1-without-upgrade-from",
    "2.5.1-to-2.3.1-downgrade",
}
STATIC = {"2.5.1-to-2.8.2-and-back-static-members", "broker-4.3.1-2.4.1-to-2.8.2-static-members"}
QUICK = {"2.0.1-to-2.3.1", "1.1.1-to-2.0.1-without-upgrade-from-leader-last", "3.3.2-to-4.0.1-second-thread"}


def captures(names):
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(names)]


def instance_of(part):
    return Instance(part.incarnation.started_as.release, part.incarnation.started_as.config.upgrade_from)


def generations_of(text):
    found = check_conformance(Capture.parse(text)).step_by_step.generations
    return [generation for generation in found if generation.members]


def cell_of(generations):
    """All members run as all instances of a capture, in the order in which these appear."""
    sequence = tuple(dict.fromkeys(instance_of(part) for generation in generations for part in generation.members))
    upgrade = Upgrade(sequence[0].release, sequence[-1].release, Plan.ONE_BOUNCE)
    return UpgradeCell(upgrade, 2, custom_sequences=(sequence, sequence))


@cache
def known_generations(asked):
    """The tables of a cell, and a leader's version state and what it reads => the version states of the others."""
    model = AnySize(asked)
    states, found = model.encoding.process_states.values, {}
    for shared, known in close(model, 1 if explore_any_size(asked, 1).safe else 2).known.items():
        leader = states[shared.leader]
        if shared.group_fields & 3 == COMPLETING * PHASE and leader.status == JOINED:
            others = {states[number] for few, last in known.items() for number in (*few, *members(last))}
            joined = {other.version for other in others if other.status == JOINED}
            found.setdefault((leader.version, shared.subscriptions), set()).update(joined)
    return model.encoding.protocol_table, found


def first_that_is_unknown(generations):
    """The number of the first captured generation that the abstract graph does not have; None if it has all.

    A member sends what follows from its answers, of which it may have missed the last, and gets what follows from what
    the leader reads.
    """
    asked = cell_of(generations)
    table, known = known_generations(asked)
    version_of = {}
    for generation in generations:
        sent = []
        for part in generation.members:
            fresh = table.initial_version(asked.instances.index(instance_of(part)))
            possible = version_of.get(part.incarnation, (fresh,))
            matching = [each for each in possible if table.used_version(each) == part.subscription.used_version]
            sent.append((part, matching[0] if matching else None))
        versions = {version for _, version in sent}
        (leader,) = [version for part, version in sent if part.is_leader]
        if None in versions:
            return generation.number
        read = frozenset(map(table.subscriptions.__getitem__, versions))
        beside = known.get((leader, sum(1 << number for number in read)), ())
        if not all(version in beside for part, version in sent if not part.is_leader):
            return generation.number
        answers = table.answers(table.version_states.values[leader].instance, read)
        for part, version in sent:
            answer = answers[table.subscriptions[version], part.is_leader]
            if table.answers_sent.values[answer].version != part.assignment.version:
                return generation.number
            reaction = table.reactions[version, answer]
            version_of[part.incarnation] = (reaction.version, version) if isinstance(reaction, Reaction) else (version,)
    return None


@pytest.mark.parametrize("name", captures(CAPTURES.keys() - UNSAFE - STATIC))
def test_a_captured_bounce_is_a_path_of_the_abstract_graph(name):
    assert first_that_is_unknown(generations_of(CAPTURES[name].read_text())) is None


@pytest.mark.parametrize("name", captures(UNSAFE))
def test_a_bounce_that_failed_is_unsafe(name):
    assert explore_any_size(cell_of(generations_of(CAPTURES[name].read_text())), 2).violation is not None


@pytest.mark.parametrize("message", ["subscription", "assignment"])
def test_a_message_with_another_version_is_on_no_path(message):
    """One member sends, or gets, the version of the generation before."""
    capture = json.loads(CAPTURES["2.0.1-to-2.3.1"].read_text())
    before, last = capture["generations"][-2:]
    last["members"][0][message] = before["members"][0][message]

    assert first_that_is_unknown(generations_of(json.dumps(capture))) == last["generation"]


@pytest.mark.slow
def test_a_static_member_gets_the_answer_of_the_one_that_it_replaces():
    """Packed groups have no static members."""
    assert all(first_that_is_unknown(generations_of(CAPTURES[name].read_text())) for name in STATIC)
