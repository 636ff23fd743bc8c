import pytest

from streams_assignor.upgrade import UpgradeError, release_named
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.interrupted import interrupted, is_over, may_be_over
from streams_assignor.upgrade.roll.journal import QuestionAnswered
from streams_assignor.upgrade.roll.plan import InstanceConfig
from tests.upgrade.roll.fake_group import Operator, member, plan

OLD, VALUE, BRIDGE, NEW = (
    InstanceConfig("2.3.1"),
    InstanceConfig("3.9.2", "2.3"),
    InstanceConfig("3.9.2"),
    InstanceConfig("4.3.1"),
)
ROUNDS = plan(target="4.3.1").rounds


@pytest.mark.parametrize(
    ("configs", "first", "bounced", "begun"),
    [
        ((OLD, OLD), 0, (), 0),
        ((OLD, VALUE), 0, ("b",), 1),
        ((VALUE, VALUE), 0, ("a", "b"), 2),
        ((VALUE, BRIDGE), 0, ("a", "b"), 2),
        ((BRIDGE, NEW), 2, ("b",), 1),
        ((NEW, NEW), 2, ("a", "b"), 1),
    ],
)
def test_it_goes_on_in_the_first_round_that_may_not_be_finished(configs, first, bounced, begun):
    found = interrupted(ROUNDS, [member(name, config) for name, config in zip("ab", configs, strict=True)])

    assert (ROUNDS[first:], bounced, begun) == (found.rounds, found.bounced, found.begun)


@pytest.mark.parametrize("problem", ["", "the version is unknown"])
def test_a_member_that_shows_no_release_is_for_the_gates(problem):
    """As all of them while a group rebalances: nothing is restarted because of that."""
    found = interrupted(ROUNDS, [member("a", OLD), member("b", OLD, unpinned=(), problem=problem)])

    assert (ROUNDS, (), 0) == (found.rounds, found.bounced, found.begun)


@pytest.mark.parametrize(
    ("configs", "shows", "over"),
    [
        ((OLD, OLD), (OLD,), (False, False)),
        ((VALUE, VALUE), (VALUE,), (False, False)),
        ((NEW, VALUE), (NEW,), (False, False)),
        ((NEW, NEW), (BRIDGE, NEW), (True, False)),
        ((NEW, NEW), (OLD, NEW), (False, False)),
        ((NEW, NEW), (NEW,), (True, True)),
        ((), (), (False, False)),
    ],
)
def test_a_group_that_may_have_made_all_rounds_is_told_from_one_that_has(configs, shows, over):
    """The same command in another folder restarted a finished group, as ``--from`` says from what it began."""
    releases = tuple(release_named(config.release) for config in shows)
    members = [
        member(name, config, **({"unpinned": releases, "protocol": "unknown"} if config == NEW else {}))
        for name, config in zip("ab", configs, strict=False)
    ]

    assert over == (may_be_over(ROUNDS, members), is_over(ROUNDS, members))


@pytest.mark.parametrize("rounds", [ROUNDS, plan(offline=True).rounds])
def test_members_that_are_two_hops_apart_are_refused(rounds):
    with pytest.raises(UpgradeError, match=r"between two releases .* got a with 2.3.1, b with 4.3.1: bounce"):
        interrupted(rounds, [member("a", OLD), member("b", NEW)])


@pytest.mark.parametrize(("configs", "bounced", "begun"), [((OLD, OLD), (), 0), ((OLD, BRIDGE), ("b",), 2)])
def test_what_was_started_as_a_whole_is_stopped_again(configs, bounced, begun):
    rounds = plan(offline=True).rounds
    found = interrupted(rounds, [member(name, config) for name, config in zip("ab", configs, strict=True)])

    assert (rounds, bounced, begun) == (found.rounds, found.bounced, found.begun)


@pytest.mark.parametrize("canary", [None, "a"])
def test_what_was_bounced_is_restarted_first_whatever_the_group_looks_like(canary):
    operator = Operator(plan(bounced=("b", "c"), begun=1, canary=canary))
    operator.group = "PreparingRebalance"  # because b and c disturb it
    assert {"a": OLD, "b": VALUE, "c": VALUE} == operator.state.configs
    begun = operator.until(engine.RunCommand)
    operator.group = "Stable"
    done = operator.go()

    assert ("b", VALUE) == (begun.instance, begun.round.config)
    assert engine.FINISHED == done.outcome
    first = [f"restart {name} {VALUE}" for name in "bca"]
    assert [*first, *(f"restart {name} {BRIDGE}" for name in "abc")] == operator.commands


@pytest.mark.parametrize(
    ("begun", "back"),
    [(1, [f"restart b {OLD}"]), (2, [f"restart {name} {config}" for config in (VALUE, OLD) for name in "abc"])],
)
def test_the_way_back_begins_where_the_upgrade_may_be(begun, back):
    operator = Operator(plan(bounced=("b",) if begun == 1 else tuple("abc"), begun=begun))
    operator.until(engine.AskOperator)
    operator.write(QuestionAnswered(about="back", option=SafeOption.BACK))
    done = operator.go()

    assert (engine.ROLLED_BACK, back) == (done.outcome, operator.commands)
