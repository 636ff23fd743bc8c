"""A roll of the nodes of a cluster: what is done in which order, and what each gate says."""

from types import MappingProxyType

import pytest
from attrs import evolve

from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release, version_named
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.cluster import CLUSTER_RULES, ClusterObservation, NodeSeen, cluster_rounds
from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.gates import EVERY_PHASE, GatePhase, GateStatus, RollWatch
from streams_assignor.upgrade.roll.journal import CommandEnded, PlanRecorded, QuestionAnswered, RollResumed
from streams_assignor.upgrade.roll.plan import ALL_INSTANCES, BY_HAND, RollInstance, RollLimits, RollPlan
from streams_assignor.upgrade.roll.state import replay

OLD, NEW = "3.9.2", "4.3.1"
IDS = MappingProxyType({"node-1": 1, "node-2": 2, "node-3": 3})


def advice(origin=OLD, target=NEW, **further):
    return advise_brokers(
        broker_release(origin), broker_release(target), MetadataMode.KRAFT, level_unchanged=True, **further
    )


def supported(release):
    newest = broker_release(release).newest
    return 1, newest.level


class ClusterOperator:
    """A roll with its journal, and three nodes of which each command makes what it is to make."""

    def __init__(self, origin=OLD, target=NEW, soak_s=0.0, **further):
        self.plan = RollPlan(
            name="cluster",
            origin=origin,
            target=target,
            rounds=cluster_rounds(advice(origin, target)),
            instances=tuple(map(RollInstance, IDS)),
            limits=RollLimits(timeout_s=600, session_timeout_s=45, soak_s=soak_s),
            **further,
        )
        self.records = [PlanRecorded(plan=self.plan)]
        self.watch = RollWatch()
        self.seen = ClusterObservation(
            seconds=0.0,
            node_ids=IDS,
            nodes={
                node: NodeSeen(
                    node_id=node, is_broker=True, metadata_levels=supported(origin), is_voter=True, is_caught_up=True
                )
                for node in IDS.values()
            },
            controller=1,
            levels={METADATA_VERSION: broker_release(origin).newest.level},
        )
        self.answers = {"plan": SafeOption.CONTINUE, "no-way-back": SafeOption.CONTINUE}
        self.commands = []

    @property
    def state(self):
        return replay(self.records)

    def change(self, node=None, seconds=0.0, **further):
        """Let a node, or the cluster, be seen otherwise from now on."""
        self.seen = evolve(self.seen, seconds=self.seen.seconds + seconds, **({} if node else further))
        if node:
            nodes = dict(self.seen.nodes)
            nodes[node] = evolve(nodes[node], **further)
            self.seen = evolve(self.seen, nodes=nodes)

    def decide(self):
        state = self.state
        self.watch = engine.watching(state, self.watch, self.seen, CLUSTER_RULES)
        return engine.decide(state, self.watch, self.seen, CLUSTER_RULES)

    def run(self, instance, _verb, config):
        if instance == ALL_INSTANCES:
            self.change(levels={METADATA_VERSION: broker_release(config.release).newest.level})
        else:
            self.change(IDS[instance], metadata_levels=supported(config.release))
            if self.seen.controller == IDS[instance]:
                self.change(controller=next(other for other in IDS.values() if other != IDS[instance]))

    def act(self, decision):
        match decision:
            case engine.WriteRecord(record):
                self.records.append(record)
            case engine.BeginStep():
                self.records.append(engine.began(decision, self.seen))
            case engine.RunCommand(step, instance, verb, roll_round):
                self.records.append(engine.intended(decision, self.seen))
                self.commands.append(f"{verb} {instance} {roll_round.config}")
                self.run(instance, verb, roll_round.config)
                self.records.append(CommandEnded(step=step, instance=instance, verb=verb, status=0))
            case engine.AskOperator(about) if about in self.answers:
                given = {"step": decision.step, "kind": decision.kind, "instances": decision.instances}
                self.records.append(QuestionAnswered(about=about, option=self.answers[about], **given))
            case _:
                return decision
        return None

    def go(self, until=None):
        """Go on until somebody has to decide, to wait, or it is the end; or until so many commands have run."""
        for _ in range(200):
            if until is not None and len(self.commands) >= until:
                return None
            if (left := self.act(self.decide())) is not None:
                return left
        raise AssertionError(self.records[-5:])


def in_first_step(operator=None):
    """A roll whose first command has run."""
    operator = operator or ClusterOperator()
    operator.go(until=1)
    return operator


def result(operator, gate, phase=GatePhase.AFTER):
    operator.watch = engine.watching(operator.state, operator.watch, operator.seen, CLUSTER_RULES)
    results = CLUSTER_RULES.results(phase, operator.state, operator.watch, operator.seen)
    return {each.gate: each for each in results}.get(gate)


def test_it_restarts_the_active_controller_last_and_then_raises_the_levels_once():
    operator = ClusterOperator()

    assert engine.RollFinished("finished") == operator.go()
    assert [
        "restart node-2 4.3.1",
        "restart node-3 4.3.1",
        "restart node-1 4.3.1",
        "once cluster 4.3.1",
    ] == operator.commands


def test_it_asks_before_the_levels_are_raised_and_stops_without_consent():
    operator = ClusterOperator()
    operator.answers["no-way-back"] = SafeOption.STOP
    assert engine.RollFinished("") == operator.go()
    assert "once cluster 4.3.1" not in operator.commands

    operator.records.append(RollResumed())
    operator.answers["no-way-back"] = SafeOption.CONTINUE
    assert engine.RollFinished("finished") == operator.go()


def test_it_rolls_back_before_the_levels_are_raised():
    operator = ClusterOperator()
    operator.go(until=2)
    operator.records.append(QuestionAnswered(about="back", option=SafeOption.BACK))

    assert engine.RollFinished("rolled back") == operator.go()
    assert ["restart node-2 3.9.2", "restart node-3 3.9.2"] == sorted(operator.commands[2:])


def test_there_is_no_way_back_after_the_levels_are_raised():
    operator = ClusterOperator()
    operator.go(until=4)
    operator.records.append(QuestionAnswered(about="back", option=SafeOption.BACK))

    assert engine.RollFinished("no way back") == operator.go()


def test_a_crash_while_the_levels_are_raised_finds_that_they_are():
    operator = ClusterOperator()
    operator.go(until=4)
    operator.records.pop()
    operator.records.append(RollResumed())

    assert engine.RollFinished("finished") == operator.go()
    assert 4 == len(operator.commands)


@pytest.mark.parametrize("came", [True, False])
def test_a_crash_during_a_restart_finds_a_node_of_the_new_release_or_asks(came):
    operator = in_first_step()
    operator.records.pop()
    operator.records.append(RollResumed())
    if not came:
        operator.change(2, metadata_levels=supported(OLD))
        assert isinstance(operator.go(), engine.KeepWaiting)
        operator.change(seconds=46)
        assert "unknown-outcome" == operator.go().about
    else:
        assert engine.RollFinished("finished") == operator.go()
    assert 1 == operator.commands.count("restart node-2 4.3.1")


def test_it_waits_for_replicas_before_the_next_node_and_says_so_when_time_is_up():
    operator = in_first_step()
    operator.change(under_replicated=tuple(f"orders-{number}" for number in range(7)))
    waiting = operator.go()
    assert isinstance(waiting, engine.KeepWaiting)

    operator.change(seconds=601)
    question = operator.go()

    assert (DeviationKind.CONDITION, 1) == (question.kind, len(operator.commands))
    assert "7 under-replicated partitions: orders-0, orders-1, orders-2, orders-3, orders-4 and 2 more" == question.text


CHECKS = {
    "a node that does not return": (
        {"node": 2, "is_broker": False, "is_voter": False},
        "returned",
        GateStatus.WAITING,
        "node-2 is not registered",
    ),
    "a node whose release is not known yet": (
        {"node": 2, "metadata_levels": None},
        "config",
        GateStatus.WAITING,
        "node-2 does not answer",
    ),
    "the old release": (
        {"node": 2, "metadata_levels": supported(OLD)},
        "config",
        GateStatus.WAITING,
        "node-2 supports up to 3.9-IV0",
    ),
    "another release": (
        {"node": 2, "metadata_levels": supported("4.1.2")},
        "config",
        GateStatus.FAILED,
        "node-2 supports up to 4.1-IV1",
    ),
    "another node that fails": (
        {"node": 3, "is_broker": False, "is_caught_up": False},
        "others",
        GateStatus.WAITING,
        "node-3 not registered",
    ),
    "no active controller": ({"controller": None}, "quorum", GateStatus.WAITING, "no active controller"),
    "a controller that is behind": (
        {"node": 3, "is_caught_up": False},
        "quorum",
        GateStatus.WAITING,
        "controller 3 lacks committed metadata",
    ),
    "no answer": ({"problem": "timed out"}, "visible", GateStatus.WAITING, "not described: timed out"),
    "levels that somebody has raised": (
        {"levels": {METADATA_VERSION: 30}},
        "levels",
        GateStatus.FAILED,
        "metadata.version 4.3-IV0",
    ),
    "no levels": ({"levels": {}}, "levels", GateStatus.PASSED, "metadata.version is not finalized"),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_gate_says(name):
    change, gate, status, text = CHECKS[name]
    operator = in_first_step()
    operator.change(**change)
    said = result(operator, gate)

    assert (status, text) == (said.status, said.text)


def test_only_one_gate_says_that_nothing_answers():
    operator = in_first_step()
    operator.change(problem="timed out")

    for phase in EVERY_PHASE:
        results = CLUSTER_RULES.results(phase, operator.state, operator.watch, operator.seen)
        assert ["visible"] == [each.gate for each in results if each.status is not GateStatus.PASSED]


def test_a_node_that_nobody_knows_is_no_instance():
    operator = in_first_step()
    operator.change(nodes={**operator.seen.nodes, 9: NodeSeen(node_id=9, is_broker=True)})

    assert "node 9 is no instance of the plan" == result(operator, "others").text


@pytest.mark.parametrize("reason", ["it has returned", "time"])
def test_the_old_release_is_a_deviation_once_the_node_has_returned_or_is_there_for_long(reason):
    operator = in_first_step()
    result(operator, "config")
    if reason == "time":
        operator.change(2, metadata_levels=supported(OLD), seconds=45)
    else:
        operator.change(2, is_broker=False)
        result(operator, "config")
        operator.change(2, is_broker=True, metadata_levels=supported(OLD))

    assert (DeviationKind.OLD_RELEASE, GateStatus.FAILED) == (
        (said := result(operator, "config")).kind,
        said.status,
    )


def test_by_hand_a_node_may_take_any_time_to_be_restarted():
    """Its operator has been told, and the lock is not given up meanwhile."""
    operator = in_first_step(ClusterOperator(verbs=(BY_HAND,)))
    result(operator, "config")
    operator.change(2, metadata_levels=supported(OLD), seconds=90_000)
    said = result(operator, "config")

    assert (GateStatus.WAITING, True) == (said.status, said.is_patient)


def test_a_node_that_returns_again_and_again_is_a_crash_loop():
    operator = in_first_step()
    for is_broker in (True, False) * 4:
        operator.change(2, is_broker=is_broker)
        said = result(operator, "crash-loop")

    assert "node-2 has gone and returned 3 times" == said.text


def test_what_was_seen_before_stays_while_nothing_answers():
    operator = in_first_step()
    result(operator, "others")
    operator.change(problem="timed out")
    result(operator, "visible")

    assert {0.0} == {operator.watch.lasting.nodes[name].since for name in IDS}


def test_a_controller_without_a_broker_does_not_show_its_release():
    operator = ClusterOperator()
    operator.change(2, is_broker=False, metadata_levels=None)
    in_first_step(operator)
    operator.change(2, is_broker=False, metadata_levels=None)

    text = "as 4.3.1, which supports up to 4.3-IV0; node-2, a controller without a broker, does not show its release"
    assert text == result(operator, "config").text
    assert {"does not show what it supports"} == operator.seen.incarnations("node-2")


def test_a_controller_without_a_broker_has_returned_when_it_fetches_again():
    """For half a second after it has gone, nobody has committed what it lacks: the next one would be restarted."""
    operator = ClusterOperator()
    operator.change(2, is_broker=False, metadata_levels=None, last_fetch_ms=1_000)
    in_first_step(operator)
    operator.change(2, is_broker=False, metadata_levels=None)
    result(operator, "visible", GatePhase.BEFORE)

    said = result(operator, "returned")
    assert (GateStatus.WAITING, "node-2 has not fetched metadata since its command ended") == (said.status, said.text)
    operator.change(problem="timed out")
    result(operator, "visible")
    operator.change(2, last_fetch_ms=1_500)
    operator.change(problem="")
    assert GateStatus.PASSED is result(operator, "returned").status


def test_a_patch_release_cannot_be_told():
    operator = in_first_step(ClusterOperator("4.3.0", "4.3.1"))

    assert (
        "as 4.3.1, which supports up to 4.3-IV0; no request tells 4.3.1 from 4.3.0" == result(operator, "config").text
    )


@pytest.mark.parametrize("controller_only", [False, True])
def test_a_command_that_does_not_wait_leaves_the_old_process_which_is_about_to_go(controller_only):
    """Of a patch release, and of a controller, no level shows it: the next node was restarted at once."""
    operator = ClusterOperator("4.3.0", "4.3.1", soak_s=45)
    more = {"is_broker": False, "metadata_levels": None} if controller_only else {}
    operator.change(2, last_fetch_ms=1, **more)
    in_first_step(operator)
    operator.change(2, last_fetch_ms=1, **more)
    operator.go()
    operator.change(2, seconds=1, last_fetch_ms=2)
    assert "node-2 there for 1 s of 45" in [each.text for each in operator.go().results]

    operator.change(2, seconds=30, is_broker=False, is_caught_up=False)
    operator.go()
    operator.change(2, seconds=1, is_broker=not controller_only, is_caught_up=True, last_fetch_ms=3)
    operator.go()
    operator.change(seconds=44)
    operator.go()
    assert 1 == len(operator.commands)
    operator.change(seconds=1)
    operator.go()
    assert 2 == len(operator.commands)


def test_a_node_that_nobody_saw_go_is_said_to_be_that():
    operator = in_first_step(ClusterOperator("4.3.0", "4.3.1", soak_s=45))
    operator.go()
    operator.change(seconds=45)

    assert "node-2 there for 45 s; no look has shown that node-2 went" == result(operator, "alive").text


@pytest.mark.parametrize(("is_resumed", "is_patient"), [(False, True), (True, False)])
def test_by_hand_a_patch_release_passes_when_the_node_has_gone_and_returned(is_resumed, is_patient):
    """Each node was taken for restarted as soon as its step was printed."""
    operator = in_first_step(ClusterOperator("4.3.0", "4.3.1", verbs=(BY_HAND,)))
    if is_resumed:
        operator.records.append(RollResumed(seconds=5.0))
    said = result(operator, "returned")
    assert (GateStatus.WAITING, is_patient) == (said.status, said.is_patient)
    assert "node-2 was not seen to go, and nothing else shows that it was restarted" == said.text

    operator.change(2, is_broker=False)
    assert "node-2 is not registered" == result(operator, "returned").text
    operator.change(2, is_broker=True)
    assert GateStatus.PASSED is result(operator, "returned").status


def test_the_broker_of_a_node_that_is_a_controller_too_has_to_register():
    operator = in_first_step()
    result(operator, "returned")
    operator.change(2, is_broker=False, metadata_levels=None)

    assert "node-2 is not registered" == result(operator, "returned").text


@pytest.mark.parametrize("is_new", [True, False], ids=["it still is", "somebody has gone back"])
def test_a_finished_roll_is_compared_with_the_levels_and_releases_of_now(is_new):
    """It was "finished", status 0, for any cluster."""
    operator = ClusterOperator()
    operator.go()
    if not is_new:
        operator.change(2, metadata_levels=supported(OLD))
        operator.change(levels={METADATA_VERSION: 21})
    left = engine.ended(operator.state)
    watch = engine.watching(left, RollWatch(), operator.seen, CLUSTER_RULES)
    differs = [each.text for each in engine.unlike_its_end(left, watch, operator.seen, CLUSTER_RULES)]

    assert ([] if is_new else ["node-2 supports up to 3.9-IV0", "metadata.version 3.9-IV0"]) == differs


def test_a_partition_that_may_lack_a_replica_says_nothing_of_the_quorum():
    """All conditions of a step were accepted with the first one."""
    operator = ClusterOperator()
    operator.answers["deviation"] = SafeOption.CONTINUE
    operator.change(under_replicated=("orders-0",))
    operator.go()
    operator.change(seconds=601)
    assert engine.RollFinished("finished") != operator.go(until=1)
    assert ["in-sync"] == [each.gate for each in operator.go().results if each.status is not GateStatus.PASSED]
    operator.change(seconds=601)
    for _ in ("the deviation", "its answer"):
        operator.act(operator.decide())
    operator.change(controller=None)
    waiting = operator.go()

    closed = [(each.gate, each.status) for each in waiting.results if each.status is not GateStatus.PASSED]
    assert [("quorum", GateStatus.WAITING)] == closed


@pytest.mark.parametrize(("commands", "wrong"), [(0, (1, 2, 3)), (1, (1, 3)), (2, (1,)), (4, (3,))])
def test_nodes_of_a_release_that_the_plan_does_not_know_are_not_restarted(commands, wrong):
    """A roll that was continued after another one had gone further took the cluster back, node by node."""
    operator = ClusterOperator(target="4.1.2")
    operator.go(until=commands)
    for node in wrong:
        operator.change(node, metadata_levels=supported("4.3.1"))
    operator.go()

    found = operator.state.deviation
    names = tuple(f"node-{node}" for node in wrong)
    assert (DeviationKind.OTHER_RELEASE, names, commands) == (found.kind, found.instances, len(operator.commands))
    assert all(f"{name} supports up to 4.3-IV0" in found.observed for name in names)
    assert "nodes that support up to 3.9-IV0 or 4.1-IV1" == found.expected


def test_a_node_that_returns_again_in_later_steps_is_a_crash_loop_until_somebody_has_answered():
    operator = in_first_step()
    for number in range(1, 4):
        operator.go(until=number)
        operator.change(2, is_broker=False)
        result(operator, "crash-loop")
        operator.change(2, is_broker=True)
        said = result(operator, "crash-loop")
    assert "node-2 has gone and returned 3 times" == said.text

    operator.records.append(QuestionAnswered(about="deviation", option=SafeOption.WAIT))
    assert result(operator, "crash-loop") is None


def test_a_node_that_is_not_there_has_no_incarnation_and_nobody_owns_partitions():
    operator = ClusterOperator()
    operator.change(2, is_broker=False, is_caught_up=None)

    assert frozenset() == operator.seen.incarnations("node-2")
    assert {} == operator.seen.owners()
    assert frozenset() == evolve(operator.seen, levels={}).incarnations(ALL_INSTANCES)


def test_no_node_leads_that_is_no_instance():
    assert CLUSTER_RULES.leader(evolve(ClusterOperator().seen, controller=9)) is None


def test_levels_that_are_not_raised_are_waited_for():
    operator = ClusterOperator()
    operator.go(until=4)
    operator.change(levels={METADATA_VERSION: 21})

    assert (GateStatus.WAITING, "metadata.version 4.3-IV0") == (
        (said := result(operator, "levels")).status,
        said.expected,
    )


@pytest.mark.parametrize(
    ("origin", "target", "mode", "level", "why"),
    [
        ("2.8", "3.9", MetadataMode.ZOOKEEPER, None, "expected a cluster in KRaft mode"),
        ("4.3", "4.2", MetadataMode.KRAFT, None, "no way from 4.3 to 4.2"),
        ("3.9", "4.3", MetadataMode.KRAFT, "3.2", "do it first, then call roll again"),
        ("3.9", "4.3", MetadataMode.KRAFT, "3.9", r"snapshot of the metadata .* \(--level-unchanged\)"),
        ("4.2", "4.1", MetadataMode.KRAFT, "4.1", r"do it first, then call roll again: lower what is finalized"),
        ("4.1", "4.0", MetadataMode.KRAFT, "4.0", r"do it first, then call roll again: wait until every controller"),
        ("4.2", "4.1", MetadataMode.KRAFT, None, "do it first, then call roll again: lower metadata.version"),
    ],
)
def test_it_refuses_a_plan_that_is_not_made_of_restarts(origin, target, mode, level, why):
    plan = advise_brokers(broker_release(origin), broker_release(target), mode, version_named(level) if level else None)
    with pytest.raises(UpgradeError, match=why):
        cluster_rounds(plan)
