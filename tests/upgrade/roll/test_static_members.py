"""Static members that return as an older release: found by ``sweep --matrix roll``."""

from attrs import evolve

from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.engine import AskOperator, KeepWaiting, RollFinished, RunCommand
from streams_assignor.upgrade.roll.gates import GateStatus
from streams_assignor.upgrade.roll.journal import QuestionAnswered
from streams_assignor.upgrade.roll.plan import InstanceConfig
from streams_assignor.upgrade.roll.static_members import keeps_unreadable_assignment
from tests.upgrade.roll.fake_group import Operator

BACK = QuestionAnswered(about="back", option=SafeOption.BACK)


class StaticOperator(Operator):
    """A group whose members have a group.instance.id: a stopped one is counted until its session times out."""

    def run(self, instance, verb, config):
        if verb != "stop":
            super().run(instance, verb, config)

    def look(self):
        seen = super().look()
        return evolve(seen, members=tuple(evolve(each, is_static=True) for each in seen.members))

    def expire(self, name):
        del self.members[name]


def upgraded(**further):
    """A group in which every member speaks what only the new release reads, and that is to go back."""
    operator = StaticOperator(origin="2.4.1", target="2.8.2", names="ab", **further)
    assert RollFinished("finished") == operator.go()
    operator.commands = []
    operator.write(BACK)
    return operator


def test_an_upgrade_waits_for_no_session():
    operator = StaticOperator(origin="2.4.1", target="2.8.2", names="ab", verbs=("stop", "start"))

    assert RollFinished("finished") == operator.go()


def test_a_static_member_is_not_started_as_an_older_release_before_its_session_has_timed_out():
    operator = upgraded(verbs=("stop", "start"))
    waiting = operator.go()

    assert isinstance(waiting, KeepWaiting)
    (closed,) = waiting.results
    assert (GateStatus.WAITING, DeviationKind.STATIC_MEMBER) == (closed.status, closed.kind)
    assert ["stop a 2.4.1"] == operator.commands
    operator.expire("a")
    operator.go()
    assert ["stop a 2.4.1", "start a 2.4.1"] == operator.commands[:2]


def test_a_static_member_whose_session_does_not_end_is_a_deviation():
    operator = upgraded(verbs=("stop", "start"))
    operator.go()
    operator.seconds += 1000
    found = operator.found()

    assert (DeviationKind.STATIC_MEMBER, ("a",)) == (found.kind, found.instances)
    assert "a is no member any more: stopped, and its session has timed out" == found.expected


def test_a_restart_of_a_static_member_as_an_older_release_is_asked_about():
    """One command stops and starts it: the session cannot time out in between."""
    operator = upgraded()
    found = operator.found()

    assert (DeviationKind.STATIC_MEMBER, ("a",)) == (found.kind, found.instances)
    assert [] == operator.commands
    operator.answer(operator.go(), SafeOption.WAIT)
    assert isinstance(operator.go(), KeepWaiting)
    operator.expire("a")
    operator.until(RunCommand)
    operator.act(operator.decide())
    assert ["restart a 2.4.1"] == operator.commands


def test_an_operator_who_goes_on_restarts_a_static_member_at_once():
    operator = upgraded()
    operator.answer(operator.go(), SafeOption.CONTINUE)
    operator.until(RunCommand)

    assert isinstance(operator.decide(), RunCommand)


def test_a_static_member_returns_at_once_where_the_group_speaks_what_it_reads():
    """The second one: the first one has brought the group back to the old version."""
    operator = upgraded()
    assert isinstance(operator.go(), AskOperator)
    operator.expire("a")
    operator.answer(operator.go(), SafeOption.WAIT)

    assert RollFinished("rolled back") == operator.go()
    assert ["restart a 2.4.1", "restart b 2.4.1"] == operator.commands


def test_what_a_group_speaks_that_is_not_shown_is_taken_for_too_new():
    seen = StaticOperator(origin="2.4.1", target="2.8.2").look()
    hidden = evolve(seen, members=tuple(evolve(each, used_version=None) for each in seen.members))
    dynamic = evolve(seen, members=tuple(evolve(each, is_static=False) for each in hidden.members))
    old = InstanceConfig("2.4.1")

    assert [False, True, False] == [keeps_unreadable_assignment(each, "a", old) for each in (seen, hidden, dynamic)]
