"""``streams-assignor roll`` from its plan to its report, on a simulated group."""

import errno
import json
import os
import re
import stat
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.roll import command
from streams_assignor.cli.roll.command import roll
from streams_assignor.cli.roll.output import RollLines
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.spark_sim.forecast import recomputation
from streams_assignor.upgrade.roll.journal import CommandIntended
from tests.assignor.cli.roll.simulated import SimulatedCluster
from tests.each import each_third

FIRST = "expected --restart, or --stop and --start, or --by-hand"


@pytest.fixture(name="cluster")
def fixture_cluster(tmp_path, monkeypatch):
    cluster = SimulatedCluster(tmp_path)
    monkeypatch.setattr(group_lookup, "GroupLookup", cluster.lookup)
    return cluster


def kinds(cluster):
    return [json.loads(line)["record"] for line in cluster.journal.read_text().splitlines()]


def test_it_upgrades_one_instance_after_the_other_and_writes_a_report(cluster):
    done = cluster.roll("--yes", "--canary", "B", forecast=True)

    assert 0 == done.exit_code, done.output
    assert ["B>4.3.1", "A>4.3.1", "C>4.3.1"] == cluster.lines
    lines = done.stdout.splitlines()
    assert "app: 3.9.2 to 4.3.1: 3 instances, 1 round, 3 restarts" in lines
    assert "order: B, A and C, 1 member each; 1 at a time" in lines
    assert any(line.startswith("step 1: forecast: ") for line in lines)
    assert any(
        line.startswith("round 1: done: each instance was to be restarted as 4.3.1, and nothing else") for line in lines
    )
    assert "app: finished" == lines[-1]
    report = cluster.report.read_text()
    assert "# app: 3.9.2 to 4.3.1: finished" in report
    assert "| 1 | bounce every member to 4.3.1, one by one (4.3.1) |" in report


def passed(cluster):
    records = map(json.loads, cluster.journal.read_text().splitlines())
    return [record["observed"] for record in records if record["record"] == "passed"]


def test_the_decision_of_each_step_is_computed_again_from_what_members_have_sent(cluster):
    done = cluster.roll("--yes", forecast=True)

    assert [True] * 3 == [observed["as_computed"] for observed in passed(cluster)], done.output
    assert [[]] * 3 == [observed["assumptions_broken"] for observed in passed(cluster)]
    text = "tasks as computed again from what members have sent (A or B or C leads); drift not known"
    assert f"step 1: {text}" in done.stdout.splitlines()
    assert text in cluster.report.read_text()


def test_an_instance_that_returns_without_its_process_id_is_said_and_the_next_forecast_knows_it(cluster):
    cluster.start = "A@3.9.2 B@3.9.2 C@3.9.2 | with ephemeral"
    done = cluster.roll("--yes", forecast=True)

    broken = "A has another process id: it has found no state directory (--state ephemeral)"
    assert [[broken], [], []] == [observed["assumptions_broken"] for observed in passed(cluster)], done.output
    assert [True] * 3 == [observed["as_forecast"] for observed in passed(cluster)]
    assert f"step 1: not as the forecast assumed: {broken}" in done.stdout.splitlines()


@pytest.mark.slow
def test_an_option_about_the_state_holds_whatever_is_seen(cluster):
    cluster.roll("--yes", "--state", "ephemeral", forecast=True)

    broken = "{} has kept its process id: it has found its state directory (--state persistent)"
    said = [observed["assumptions_broken"] for observed in passed(cluster)]
    assert [[broken.format(name)] for name in "ABC"] == said


def test_a_step_without_a_rebalance_has_no_decision(cluster):
    cluster.start = "A@3.9.2 B@3.9.2 | with static"
    done = cluster.roll("--yes", forecast=True)

    assert [None] * 2 == [observed["as_computed"] for observed in passed(cluster)]
    assert "step 2: not computed again: the group has not rebalanced" in done.stdout.splitlines()


def test_other_tasks_than_the_leader_computes_are_a_finding_and_stop_nothing(cluster, monkeypatch):
    monkeypatch.setattr(recomputation, "difference", lambda *_, **__: "4.3.1 gives A other tasks")
    done = cluster.roll("--yes", forecast=True)

    assert 0 == done.exit_code
    assert [False] * 3 == [observed["as_computed"] for observed in passed(cluster)]
    differ = "TASKS DIFFER from those computed again from what members have sent: 4.3.1 gives A other tasks"
    assert f"step 1: {differ}; drift not known" in done.stdout.splitlines()


def test_without_forecasts_nothing_is_computed_again(cluster):
    cluster.roll("--yes")

    assert all("as_computed" not in observed for observed in passed(cluster))


def test_the_journal_has_the_intent_before_the_end_and_no_secrets(cluster):
    cluster.roll("--yes")

    assert ["plan", "answer", *["step", "intent", "command", "passed"] * 3, "verified", "ended"] == kinds(cluster)
    assert 0o600 == stat.S_IMODE(cluster.journal.stat().st_mode)
    assert "hunter22" not in cluster.journal.read_text()
    assert "token=[hidden]" in cluster.journal.read_text()


def test_two_bounces_are_done_with_the_value_and_without(cluster):
    cluster.start = "A@2.8.2 B@2.8.2"
    done = cluster.roll("--yes", to="3.9.2")

    assert 0 == done.exit_code, done.output
    value = "upgrade.from=2.8"
    assert [f"A>3.9.2,{value}", f"B>3.9.2,{value}", "A>3.9.2", "B>3.9.2"] == cluster.lines


def test_without_a_terminal_nothing_is_done_before_yes(cluster):
    done = cluster.roll()

    assert (3, []) == (done.exit_code, cluster.lines)
    assert "options: continue, stop" in done.stdout
    assert "stopped; the same command continues" in done.stdout


def test_a_dry_run_shows_plan_order_and_forecast_and_writes_nothing(cluster):
    done = cluster.roll("--dry-run", forecast=True)

    assert (0, [], False) == (done.exit_code, cluster.lines, cluster.journal.exists())
    lines = done.stdout.splitlines()
    place, plan = lines.index("first step, A, one of:"), lines.index("1. bounce every member to 4.3.1, one by one")
    assert "app: 3.9.2 to 4.3.1: 3 instances, 1 round, 3 restarts" == lines[0]
    outcomes = lines[place + 1 : lines.index("", place)]
    assert 1 < len(outcomes) == len(set(outcomes))
    assert all(line.startswith("- ") for line in outcomes)
    assert place < plan


def test_json_is_the_journal_with_what_is_waited_for(cluster):
    done = cluster.roll("--yes", "--json")

    printed = [json.loads(line) for line in done.stdout.splitlines()]
    written = [json.loads(line) for line in cluster.journal.read_text().splitlines()]
    assert written == [line for line in printed if line["record"] not in ("waiting", "note")]


def test_a_group_that_runs_the_release_needs_nothing(cluster):
    cluster.start = "A@4.3.1"
    done = cluster.roll("--yes")

    said = "app runs 4.3.1 already, as --from says; its members may run another release: nothing to do\n"
    assert (0, said) == (done.exit_code, done.stdout)


def test_a_member_that_shows_no_release_is_not_said_to_run_it(cluster):
    cluster.start = "A@4.3.1 B@4.3.1"
    shown = cluster.group("app")
    damaged = evolve(shown, members=(evolve(shown.members[0], subscription=b"\0\1"), *shown.members[1:]))
    cluster.group = lambda _name: damaged
    done = cluster.roll("--yes")

    assert (1, True) == (done.exit_code, "cannot be told" in done.stderr)


def test_an_instance_that_returns_with_the_old_release_stops_it_and_can_be_restarted_again(cluster):
    cluster.start = "A@2.8.2 B@2.8.2"
    cluster.done = lambda line: "B>2.8.2" if line.startswith("B") else line
    done = cluster.roll("--yes", "--session-timeout", "1", to="3.9.2")

    assert 3 == done.exit_code, done.output
    assert "step 2: DEVIATION old-release" in done.stdout
    assert any(line.startswith("  observed: B: it runs 2.8.0 to 2.8.2") for line in done.stdout.splitlines())
    assert "options: again, back, wait, stop" in done.stdout


def test_back_returns_what_was_done(cluster):
    cluster.start = "A@2.8.2 B@2.8.2"
    cluster.roll("--yes", "--answer", "stop", to="3.9.2", command=cluster.template(status=3))
    asked = cluster.roll("--back", to="3.9.2")
    done = cluster.roll("--back", "--answer", "continue", to="3.9.2")

    assert 3 == asked.exit_code, asked.output
    assert "no broker shows whether it can begin" in asked.output
    assert "start each member with an empty state directory" in asked.output
    assert 0 == done.exit_code, done.output
    assert ["A>3.9.2,upgrade.from=2.8", "A>2.8.2"] == cluster.lines
    assert "app: rolled back" == done.stdout.splitlines()[-1]
    again = cluster.roll("--yes", to="3.9.2")
    assert 4 == again.exit_code
    assert "# app: 2.8.2 to 3.9.2: rolled back" == cluster.report.read_text().splitlines()[0]


def test_an_answer_beside_back_is_for_the_way_back_and_not_for_what_was_found_before(cluster):
    cluster.start = "A@2.8.2 B@2.8.2"
    cluster.roll("--yes", to="3.9.2", command=cluster.template(status=3))
    done = cluster.roll("--back", "--answer", "continue", to="3.9.2")

    assert 0 == done.exit_code, done.output
    assert ["A>3.9.2,upgrade.from=2.8", "A>2.8.2"] == cluster.lines


def test_a_command_that_fails_stops_it_with_its_output_and_an_answer_goes_on(cluster):
    failed = cluster.roll("--yes", command=cluster.template(status=3))

    assert 3 == failed.exit_code, failed.output
    assert "  | token=[hidden]" in failed.stdout.splitlines()
    assert "step 1: DEVIATION command-failed" in failed.stdout.splitlines()
    done = cluster.roll("--answer", "continue")
    assert 0 == done.exit_code, done.output
    assert ["A>4.3.1", "B>4.3.1", "C>4.3.1"] == cluster.lines
    assert "command-failed" in cluster.report.read_text()


@pytest.mark.parametrize("is_partly", [False, True])
@pytest.mark.parametrize("whole", each_third([2, 3, 4, 5, 9]))
def test_a_full_disk_ends_a_roll_that_goes_on_afterwards_and_repeats_nothing(cluster, monkeypatch, whole, is_partly):
    """It said "No space left on device", and not of which file, or that its report could not be written."""
    right, left = os.pwrite, [*[None] * whole, *[0.5] * is_partly]

    def pwrite(descriptor, content, position):
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = left.pop(0)
        return right(descriptor, content[: int(part * len(content))] if part else content, position)

    monkeypatch.setattr(os, "pwrite", pwrite)
    failed = cluster.roll("--yes")
    assert (1, True) == (failed.exit_code, f"{cluster.journal} cannot be written: [Errno 28]" in failed.output)
    monkeypatch.setattr(os, "pwrite", right)
    done = cluster.roll("--yes", "--session-timeout", 1, "--answer", "again")  # of an intent that is torn it asks

    assert 0 == done.exit_code, done.output
    assert ["A>4.3.1", "B>4.3.1", "C>4.3.1"] == cluster.lines


def test_a_finished_roll_is_not_done_again(cluster):
    cluster.roll("--yes")
    again = cluster.roll("--yes")

    assert (0, 3) == (again.exit_code, len(cluster.lines))
    assert re.fullmatch(r"app: finished at \S+, says \S+journal; --journal names another file .*\n", again.stdout)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ("A>3.9.2\nB>3.9.2\n", None),  # which shows the same
        ("A>2.8.2\n", "A: it runs 2.8.0 to 2.8.2; A runs 2.8.0 to 2.8.2"),
        (None, "A has 0 of 1 member; B has 0 of 1 member; C has 0 of 1 member"),
    ],
)
def test_a_finished_journal_is_compared_with_the_group_of_now(cluster, changed, text):
    """It was status 0 for ever, also with an empty group and old releases that were started by hand."""
    cluster.roll("--yes")
    with cluster.called.open("a") as called:
        called.write(changed or "")
    if changed is None:
        cluster.states = 1000 * ["Empty"]
    again = cluster.roll("--yes", "--session-timeout", 1)

    assert (3 if text else 0) == again.exit_code, again.output
    if text:
        assert f"app: finished then; now {text}" == again.stdout.splitlines()[-1]


def without_from(cluster, *arguments):
    words = ["app", "--to", "4.3.1", "--bootstrap-servers", "127.0.0.1:1", "--no-lock", "--no-forecast"]
    files = ["--journal", str(cluster.journal), "--restart", cluster.template(), "--soak", "0"]
    return CliRunner().invoke(roll, [*words, *files, *arguments])


def test_a_group_that_may_run_the_release_is_not_restarted_because_of_yes(cluster):
    """The same command in another folder bounced the group again."""
    cluster.start = "A@4.3.1 B@4.3.1"
    asked = without_from(cluster, "--yes")

    assert (3, []) == (asked.exit_code, cluster.lines), asked.output
    assert "all members may run 4.3.1 already, which shows the same: --from RELEASE says what they run" in asked.output
    done = without_from(cluster, "--yes", "--answer", "continue")
    assert 0 == done.exit_code, done.output
    assert 4 == len(cluster.lines)


@pytest.mark.parametrize(
    ("start", "to", "status", "text"),
    [
        ("A@2.4.1 B@2.4.1", "2.8.2", 0, "every member can run 2.8.2, and none what it ran before: nothing to do"),
        ("A@2.3.1 B@2.3.1", "4.3.1", 3, "all members may run 4.3.1 already, which shows the same: not all run 2.3.1"),
    ],
)
def test_another_folder_does_not_restart_a_finished_group_whatever_from_says(cluster, start, to, status, text):
    cluster.start = start
    first = cluster.roll("--yes", "--answer", "continue", to=to)
    assert 0 == first.exit_code, first.output
    commands = cluster.lines
    again = cluster.roll("--yes", "--journal", cluster.folder / "another", to=to)

    assert (status, commands) == (again.exit_code, cluster.lines), again.output
    assert text in again.output


def test_a_group_without_one_of_its_instances_is_not_done(cluster):
    cluster.start = "A@2.8.2 B@2.8.2"
    file = cluster.folder / "instances"
    file.write_text("A\nB\nC\n")
    done = cluster.roll("--yes", "--from", "2.4.1", "--instances", file, to="2.8.2")

    assert (1, []) == (done.exit_code, cluster.lines), done.output
    assert "no member of the group is C: expected all instances to run" in done.output


def test_a_group_that_shows_another_release_is_not_asked_about(cluster):
    cluster.start = "A@2.8.2"

    assert 0 == without_from(cluster, "--yes").exit_code


def test_the_way_back_leads_to_a_release_that_the_operator_has_named(cluster):
    """It led to 3.4.0, the least that shows the same, which no member had ever run."""
    without_from(cluster, "--yes", "--answer", "continue")
    asked = without_from(cluster, "--back")

    assert 3 == asked.exit_code, asked.output
    assert "what ran before is not known, 3.4.0 to 4.3.0 show the same: --from RELEASE says it" in asked.output
    refused = without_from(cluster, "--back", "--from", "2.8")
    assert 1 == refused.exit_code
    assert "expected a release from 3.4.0 to 4.3.0, as members of app have shown, got --from 2.8" in refused.output
    done = without_from(cluster, "--back", "--from", "3.9", "--answer", "continue")
    assert 0 == done.exit_code, done.output
    assert ["A>3.9.2", "B>3.9.2", "C>3.9.2"] == cluster.lines[-3:]
    assert not any("3.4.0" in line for line in cluster.lines)


def test_a_plan_is_made_of_a_group_that_is_stable(cluster):
    """One of three instances was in the plan, as the others had just dropped out."""
    cluster.states = ["PreparingRebalance", "PreparingRebalance", "CompletingRebalance"]
    done = cluster.roll("--yes")

    assert 0 == done.exit_code, done.output
    waited = [line for line in done.stdout.splitlines() if line.startswith("before the plan")]
    text = "before the plan: waiting for a stable group: {}Rebalance"
    assert [text.format(state) for state in ("Preparing", "Completing")] == waited


def test_a_group_without_members_has_no_plan(cluster):
    cluster.states = ["Empty"] * 9
    done = cluster.roll("--yes")

    assert (1, "Error: group app: expected all instances to run, got none (Empty)\n") == (done.exit_code, done.output)


def test_a_group_that_is_not_stable_in_time_has_no_plan(cluster):
    cluster.states = 1000 * ["PreparingRebalance"]
    done = cluster.roll("--yes", "--timeout", 1)

    assert (1, []) == (done.exit_code, cluster.lines)
    assert "group app: expected a stable group, got PreparingRebalance" in done.output


def test_a_plan_that_is_unsafe_is_not_executed(cluster):
    cluster.start = "A@2.3.1 B@3.9.2"
    done = cluster.roll("--yes", to="2.8.2")

    assert (1, []) == (done.exit_code, cluster.lines)
    assert "members of group app run several releases" in done.output


def test_an_interrupted_upgrade_goes_on_without_its_journal_and_bounces_first_what_was_bounced(cluster):
    cluster.start = "A@2.8.2 B@2.8.2 C@2.8.2"
    cluster.called.write_text("C>3.9.2,upgrade.from=2.8\n")
    done = cluster.roll("--yes", to="3.9.2")

    assert 0 == done.exit_code, done.output
    assert "group app is in the middle of an upgrade; no longer on 2.8.2: C" in done.output
    value = "upgrade.from=2.8"
    first = [f"{name}>3.9.2,{value}" for name in "CAB"]
    assert [*first, "A>3.9.2", "B>3.9.2", "C>3.9.2"] == cluster.lines[1:]


def test_an_upgrade_whose_value_was_not_removed_needs_the_release_from_which_it_began(cluster):
    cluster.start = "A@2.3.1 B@2.3.1"
    cluster.called.write_text("A>3.9.2,upgrade.from=2.3\nB>3.9.2,upgrade.from=2.3\n")
    done = cluster.roll("--yes", "--answer", "continue", to="3.9.2")  # as its members may run 3.9.2 without it

    assert 0 == done.exit_code, done.output
    assert ["A>3.9.2", "B>3.9.2"] == cluster.lines[-2:]


def test_a_group_that_certainly_has_upgrade_from_is_not_done(cluster):
    cluster.start = "A@1.1.1 B@1.1.1"
    cluster.called.write_text("A>3.9.2,upgrade.from=1.1\nB>3.9.2,upgrade.from=1.1\n")
    done = cluster.roll("--yes", "--from", "3.9.2", to="3.9.2")

    assert 1 == done.exit_code, done.output
    assert "Error: app runs 3.9.2 already, with upgrade.from: --from RELEASE" in done.output


def test_a_release_that_only_from_names_is_not_taken_for_that_of_the_group(cluster):
    cluster.start = "A@2.8.2 B@2.8.2"
    done = cluster.roll("--yes", "--from", "4.3.1")

    assert (1, []) == (done.exit_code, cluster.lines)
    assert "4.3.1 is not the release of A-StreamThread-1" in done.output


def test_a_plan_that_nobody_has_confirmed_is_made_anew(cluster):
    cluster.roll()
    done = cluster.roll("--yes", "--canary", "C")

    assert 0 == done.exit_code, done.output
    assert ["C>4.3.1", "A>4.3.1", "B>4.3.1"] == cluster.lines
    assert 1 == kinds(cluster).count("plan")


@pytest.mark.parametrize(("probe", "status", "lines"), [("true {instance}", 0, 3), ("sh -c 'echo busy; exit 7'", 3, 1)])
def test_an_instance_has_to_be_ready_if_the_operator_can_say_it(cluster, probe, status, lines):
    done = cluster.roll("--yes", "--ready", probe, "--soak", 1, "--session-timeout", 1, "--timeout", 1)

    assert (status, lines) == (done.exit_code, len(cluster.lines)), done.output
    assert ("observed: A is not ready: status 7: busy" in done.stdout) == bool(status)


def scaled(cluster, members):
    """A roll that was stopped by its first command, and a group that is another one now."""
    cluster.roll("--yes", command=cluster.template(status=3))
    cluster.start = members
    return cluster.roll("--answer", "continue", "--timeout", 1, "--from", "3.9.2")


@pytest.mark.parametrize(
    ("members", "lines"),
    [
        ("A@3.9.2 B@3.9.2 C@3.9.2 X@3.9.2", ["A", "B", "C", "X"]),
        ("A@3.9.2 B@3.9.2 C@3.9.2 X@4.3.1", ["A", "B", "C", "X"]),
        ("A@3.9.2 C@3.9.2", ["A", "C"]),
    ],
)
def test_an_application_that_was_scaled_in_the_middle_goes_on_with_the_instances_of_now(cluster, members, lines):
    stopped = scaled(cluster, members)

    assert 3 == stopped.exit_code, stopped.output
    assert "options: wait, replan, back, stop" in stopped.stdout.splitlines()
    done = cluster.roll("--answer", "replan", "--from", "3.9.2")
    assert 0 == done.exit_code, done.output
    assert [f"{name}>4.3.1" for name in lines] == cluster.lines
    assert "instances" in kinds(cluster)
    assert 0 == cluster.roll("--yes", "--from", "3.9.2").exit_code


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("A\nC\nB\nX\n", 0, "order: A, C, B and X; 4 of them left in this round"),
        ("A\nB\n", 1, "expected members of A and B in the group, got C"),
        ("A\nB\nC\nX\nY\n", 1, "no member of the group is Y"),
    ],
)
def test_the_instances_of_now_may_be_those_of_a_file(cluster, text, status, message):
    scaled(cluster, "A@3.9.2 B@3.9.2 C@3.9.2 X@3.9.2")
    names = cluster.folder / "instances"
    names.write_text(text)
    done = cluster.roll("--answer", "replan", "--instances", names, "--from", "3.9.2")

    assert status == done.exit_code, done.output
    assert message in done.output


def test_an_instance_that_returns_by_another_name_is_given_up_by_a_file(cluster):
    """As a pod of a Deployment does. Without the file it may still be starting; then there was no way on."""
    cluster.done = lambda line: "" if line.startswith("A") else line
    scaled(cluster, "B@3.9.2 C@3.9.2 X@4.3.1")
    waited = cluster.roll("--answer", "replan", "--from", "3.9.2", "--timeout", 1)
    assert ("options: wait, again, replan, back, stop", 3) == (waited.stdout.splitlines()[-2], waited.exit_code)
    names = cluster.folder / "instances"
    names.write_text("B\nC\nX\n")
    done = cluster.roll("--answer", "replan", "--instances", names, "--from", "3.9.2")

    assert 0 == done.exit_code, done.output
    assert ["A>4.3.1", "B>4.3.1", "C>4.3.1", "X>4.3.1"] == cluster.lines


def test_an_instance_that_returns_with_fewer_threads_is_planned_with_them(cluster):
    """num.stream.threads was lowered with the release: it was to have two for ever."""
    cluster.start, whole = "A@3.9.2 B@3.9.2 | with threads=2", cluster.group

    def fewer(name):
        group = whole(name)
        gone = "A-StreamThread-2-consumer" if cluster.lines else ""
        return evolve(group, members=tuple(each for each in group.members if each.client_id != gone))

    cluster.group = fewer
    words = ("--timeout", 1, "--from", "3.9.2")
    assert 3 == cluster.roll("--yes", *words).exit_code
    cluster.roll("--answer", "replan", *words)

    (planned,) = [line for line in map(json.loads, cluster.journal.open()) if line["record"] == "instances"]
    assert {"A": 1, "B": 2} == {each["name"]: each["members"] for each in planned["instances"]}


def test_a_new_instance_of_a_release_that_the_round_does_not_know_is_refused(cluster):
    scaled(cluster, "A@3.9.2 B@3.9.2 C@3.9.2 X@2.8.2")
    done = cluster.roll("--answer", "replan", "--from", "3.9.2")

    assert 1 == done.exit_code
    assert "X runs 2.8.0 to 2.8.2, and the round makes 4.3.1 of 3.9.2: start it as one of them" in done.output


def test_an_answer_that_is_not_offered_is_wrong_usage(cluster):
    """It was ignored without a word."""
    cluster.roll("--yes", command=cluster.template(status=3))
    refused = cluster.roll("--answer", "wait")

    assert (2, ["A>4.3.1"]) == (refused.exit_code, cluster.lines)
    assert "expected one of again, continue, back, stop, got wait" in refused.output


def test_an_answer_to_a_question_of_the_way_back_is_taken_at_once(cluster):
    """With --back it was not taken before the same was asked once more, a --timeout later."""
    cluster.roll("--yes", command=cluster.template(status=3))
    cluster.roll("--back", "--answer", "continue", command=cluster.template(status=3))
    done = cluster.roll("--back", "--answer", "again")

    assert 0 == done.exit_code, done.output
    assert ["A>4.3.1", "A>3.9.2", "A>3.9.2"] == cluster.lines
    assert "DEVIATION" not in done.stdout


@pytest.mark.parametrize(
    ("start", "to", "line"),
    [
        ("A@2.4.1 B@2.4.1", "2.8.2", "verified: every instance runs 2.8.2\n"),
        ("A@2.4.1 B@2.4.1", "2.7.2", "done: each instance was to be restarted as 2.7.2, and nothing else shows it: "),
        ("A@2.8.2 B@2.8.2", "3.9.2", "done: each instance was to be restarted as 3.9.2 with upgrade.from=2.8, and"),
        ("A@3.9.2 B@3.9.2", "4.3.1", "done: each instance was to be restarted as 4.3.1, and nothing else shows it: "),
    ],
)
def test_a_round_is_verified_if_members_show_it(cluster, start, to, line):
    cluster.start = start

    assert f"round 1: {line}" in cluster.roll("--yes", to=to).stdout


def test_a_command_learns_that_its_instance_needs_an_empty_state_directory(cluster):
    shown = cluster.folder / "empty"
    command = f"sh -c 'echo \"$0 $ROLL_EMPTY_STATE\" >> {shown}; exit 3' {{instance}}{{empty_state}}"
    cluster.roll("--yes", command=command)
    cluster.roll("--back", "--answer", "continue", command=command)

    assert ["A ", "Atrue true"] == shown.read_text().splitlines()


def test_an_answer_is_for_one_question(cluster):
    cluster.roll("--yes", command=cluster.template(status=3))
    again = cluster.roll("--answer", "continue", command=cluster.template(status=3))

    assert (3, ["A>4.3.1", "B>4.3.1"]) == (again.exit_code, cluster.lines)
    assert "step 2: DEVIATION command-failed" in again.stdout


def test_a_line_that_was_not_written_completely_is_dropped_and_said(cluster):
    cluster.roll("--yes", command=cluster.template(status=3))
    with cluster.journal.open("a") as journal:
        journal.write('{"record":"int')
    done = cluster.roll("--answer", "continue")

    assert 0 == done.exit_code, done.output
    assert "continued: the last line of the journal was incomplete, and is dropped" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--restart", "x", "--by-hand"], FIRST),
        (["--stop", "x"], FIRST),
        ([], FIRST),
        (["--restart", "x {host}"], "unknown placeholder {host}"),
        (["--restart", "x ${instance}"], "unknown placeholder ${instance}"),
        (["--restart", "x 'y"], "expected a command, got"),
        (["--restart", " "], "expected a command, got nothing"),
        (["--restart", "x", "--ready", ""], "expected a command, got nothing"),
        (["--restart", "x", "--ready", "x {host}"], "unknown placeholder {host}"),
        (["--restart", "x", "--from", "99"], "unknown release '99'"),
        (["--dry-run", "--back"], "--dry-run shows the plan of a new roll, so it fits neither --back nor --answer"),
        (["--dry-run", "--answer", "again"], "--dry-run shows the plan of a new roll"),
    ],
)
def test_what_does_not_fit_together_is_wrong_usage(cluster, arguments, message):
    to = [] if "--to" in arguments else ["--to", "4.3.1"]
    done = CliRunner().invoke(roll, ["app", *to, "--bootstrap-servers", "127.0.0.1:1", *arguments])

    assert 2 == done.exit_code
    assert message in done.output
    assert [] == cluster.lines


@pytest.mark.parametrize(
    ("arguments", "to", "message"),
    [
        ([], "4.2.1", "is the journal of app to 4.3.1, not of app to 4.2.1"),
        (["--by-hand"], "4.3.1", "was begun with restart: expected the same, got by-hand"),
        (["--restart", "x", "--canary", "B"], "4.3.1", "was begun with the canary of nobody, got B"),
        (["--restart", "x", "--from", "2.8", "--back"], "4.3.1", "was begun from 3.9.2, got --from 2.8"),
        (["--stop", "x", "--start", "x", "--offline"], "4.3.1", "was begun with restart: expected the same"),
    ],
)
def test_another_roll_is_not_continued(cluster, arguments, to, message):
    cluster.roll("--yes", command=cluster.template(status=3))
    words = ["app", "--to", to, "--bootstrap-servers", "127.0.0.1:1", "--no-lock", "--journal", str(cluster.journal)]
    done = CliRunner().invoke(roll, [*words, *(arguments or ["--restart", "x"])])

    assert 1 == done.exit_code
    assert message in done.output


def test_the_same_command_called_again_does_not_go_on_past_what_nobody_has_seen(cluster):
    """The answer to one deviation was that to whatever came next."""
    words = ("--yes", "--answer", "continue")
    command = cluster.template(status=3)
    outcomes = [(cluster.roll(*words, command=command).exit_code, len(cluster.lines)) for _ in range(4)]

    assert [(3, 1), (3, 2), (3, 3), (0, 3)] == outcomes


def test_a_roll_in_another_cluster_is_not_continued(cluster):
    """Staging and production may have a group of one name, and the same folder."""
    cluster.roll("--yes", command=cluster.template(status=3))
    cluster.id = "cluster-2"
    done = cluster.roll("--yes", "--answer", "continue")

    assert (1, ["A>4.3.1"]) == (done.exit_code, cluster.lines)
    assert "is the journal of app in cluster cluster-1, not in cluster-2" in done.output


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        ((), (10_000, 45)),
        (("--config",), (7, 2)),
        (("--config", "--max-lag", "8", "--session-timeout", "3s"), (8, 3)),
    ],
)
def test_the_lag_that_is_accepted_and_the_session_are_those_of_the_members(cluster, tmp_path, arguments, limits):
    """With sessions of two minutes an instance that had died was alive after 45 s, whatever the settings said."""
    settings = tmp_path / "streams.properties"
    settings.write_text("acceptable.recovery.lag=7\nsession.timeout.ms=1\nmain.consumer.session.timeout.ms=2000\n")
    given = [word if word != "--config" else f"--config={settings}" for word in arguments]
    done = cluster.roll("--yes", *given)

    assert 0 == done.exit_code, done.output
    found = json.loads(cluster.journal.read_text().splitlines()[0])["plan"]["limits"]
    assert limits == (found["max_lag"], found["session_timeout_s"])


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [((), (7, 120, 120)), (("--max-lag", "8", "--session-timeout", "3s"), (8, 3, 3)), (("--soak", "0"), (7, 120, 0))],
)
def test_a_roll_that_is_continued_keeps_session_and_lag_if_nothing_names_them(cluster, monkeypatch, arguments, limits):
    """`--back`, typed without the options of before, took an instance for alive that had died in a session of 2 min."""
    words = [word for word in cluster.words() if word not in ("--soak", "0")]
    failing = [word if word != cluster.template() else cluster.template(status=1) for word in words]
    begun = CliRunner().invoke(roll, [*failing, "--yes", "--max-lag", "7", "--session-timeout", "120s"])
    assert 3 == begun.exit_code, begun.output
    seen = []
    monkeypatch.setattr(command, "drive", lambda _journal, state, _settings: seen.append(state.plan.limits) or state)
    CliRunner().invoke(roll, [*words, *arguments])

    (found,) = seen
    assert limits == (found.max_lag, found.session_timeout_s, found.soak_s)


def test_before_the_first_step_it_names_what_the_settings_leave_open(cluster, tmp_path):
    settings = tmp_path / "streams.properties"
    settings.write_text("num.stream.threads=1\n")
    open_hazards = "leaves open what can stop members or lose data: "

    text = cluster.roll("--dry-run", f"--config={settings}").output

    assert f"{settings} {open_hazards}" in text
    assert open_hazards not in cluster.roll("--dry-run").output
    notes = [
        json.loads(line) for line in cluster.roll("--dry-run", "--json", f"--config={settings}").stdout.splitlines()
    ]
    (note,) = [each["text"] for each in notes if each["record"] == "note" and open_hazards in each["text"]]
    assert note in text


@pytest.mark.parametrize(
    ("arguments", "line", "first"),
    [
        ((), "leader: not known, so it may be any of them: ", "A"),
        (("--leader", "A"), "leader: A, the last one (--leader)", "B"),
    ],
)
def test_it_says_before_anything_starts_how_it_knows_a_leader_that_has_to_be_last(cluster, arguments, line, first):
    """No description shows it in these versions, and it read as if roll knew."""
    cluster.start = "A@2.3.1 B@2.3.1"
    done = cluster.roll("--dry-run", "--without", "stateless-subtopologies", *arguments, to="2.8.2")

    assert 0 == done.exit_code, done.output
    assert any(text.startswith(line) for text in done.stdout.splitlines())
    assert f"first step, {first}: " in done.stdout


TWO_BOUNCES = 'round 1: bounce every member to 4.3.1 with upgrade.from="3.4", one by one (4.3.1 with upgrade.from=3.4)'
ONE_BOUNCE = "round 1: bounce every member to 4.3.1, one by one (4.3.1)"


@pytest.mark.parametrize(
    ("start", "given", "status", "line"),
    [
        ("A@3.9.2", (), 0, TWO_BOUNCES),
        ("A@3.9.2", ("--from", "3.9.2"), 0, ONE_BOUNCE),
        ("A@3.9.2", ("--from", "2.8"), 0, "note: group app is in the middle of an upgrade; no longer on 2.8.2: "),
        ("A@2.8.2", ("--from", "3.9.2"), 1, "Error: app: 3.9.2 is not the release of "),
    ],
)
def test_a_release_that_members_do_not_show_decides_between_one_bounce_and_two_and_it_says_so(
    cluster, start, given, status, line
):
    """Two without --from; one that contradicts what is seen is refused, or leads to the longer way."""
    cluster.start = start
    words = ["app", "--to", "4.3.1", "--bootstrap-servers", "127.0.0.1:1", "--dry-run", "--no-forecast", *given]
    done = CliRunner().invoke(roll, words)

    assert (status, []) == (done.exit_code, cluster.lines)
    assert any(text.startswith(line) for text in done.output.splitlines())
    is_believed = "is what you say. If they do not, these steps are not enough" in done.output
    assert is_believed == (line == ONE_BOUNCE)
    assert ("group app can be any release from 3.4.0" in done.output) == (line == TWO_BOUNCES)


def test_a_leader_is_named_also_while_a_roll_goes_on(cluster):
    cluster.roll("--yes", command=cluster.template(status=3))
    again = cluster.roll("--answer", "again", "--leader", "X")

    assert 1 == again.exit_code
    assert "expected one of A, B, C as the leader, got 'X'" in again.output
    assert 0 == cluster.roll("--answer", "again", "--leader", "C").exit_code


def test_by_hand_it_prints_the_step_and_waits_until_the_group_shows_it(cluster, monkeypatch):
    show = RollLines.record

    def record(view, line, state):
        show(view, line, state)
        if isinstance(line.record, CommandIntended):  # the operator has read it
            with cluster.called.open("a") as called:
                called.write(f"{line.record.instance}>{state.round.config}\n")

    monkeypatch.setattr(RollLines, "record", record)
    words = ["app", "--from", "3.9.2", "--to", "4.3.1", "--bootstrap-servers", "127.0.0.1:1", "--no-lock", "--by-hand"]
    words += ["--soak", "0"]
    done = CliRunner().invoke(roll, [*words, "--yes", "--no-forecast", "--journal", str(cluster.journal)])

    assert 0 == done.exit_code, done.output
    assert "step 1: please restart A as 4.3.1" in done.stdout.splitlines()
    assert ["A>4.3.1", "B>4.3.1", "C>4.3.1"] == cluster.lines


@pytest.mark.slow
def test_a_batch_has_a_forecast_and_is_compared_with_it(cluster):
    done = cluster.roll("--yes", "--batch", 2, forecast=True)

    assert 0 == done.exit_code, done.output
    assert any(line.startswith("step 1: forecast: ") for line in done.stdout.splitlines())
    assert [True] * 2 == [observed["as_computed"] for observed in passed(cluster)]
    assert [True] * 2 == [observed["as_forecast"] for observed in passed(cluster)]


def test_offsets_that_cannot_be_read_are_said_before_anything_is_restarted(cluster):
    """The first step would never have passed its gates."""
    cluster.failures = ("in-0: TOPIC_AUTHORIZATION_FAILED",)
    done = cluster.roll("--yes")

    assert (1, []) == (done.exit_code, cluster.lines)
    assert "in-0: TOPIC_AUTHORIZATION_FAILED (does this user have DESCRIBE on the topics?)" in done.output


def test_a_roll_that_another_process_has_begun_meanwhile_keeps_its_journal(cluster):
    """It was taken for a plan that nobody had confirmed, and what had been done was forgotten."""
    first = cluster.roll("--yes", command=cluster.template(status=3))
    begun = cluster.journal.read_bytes()
    cluster.journal.unlink()
    look = cluster.group

    def group(name):
        cluster.journal.write_bytes(begun)
        return look(name)

    cluster.group = group
    done = cluster.roll("--yes")

    assert (3, 1) == (first.exit_code, done.exit_code)
    assert "another process has begun this roll meanwhile: the same command continues it" in done.output
    assert begun == cluster.journal.read_bytes()


def test_another_release_of_before_than_that_of_the_journal_is_refused_unless_it_is_the_same(cluster):
    cluster.roll("--yes", command=cluster.template(status=3))

    assert 3 == cluster.roll("--from", "3.9", command=cluster.template(status=3)).exit_code
    assert "was begun from 3.9.2, got --from 3.4" in cluster.roll("--from", "3.4").output


def test_a_roll_that_was_begun_one_by_one_does_not_become_offline(cluster):
    words = ["--stop", cluster.template(), "--start", cluster.template()]
    arguments = [*cluster.words(), "--no-forecast"]
    del arguments[(place := arguments.index("--restart")) : place + 2]
    CliRunner().invoke(roll, [*arguments, "--yes", "--stop", cluster.template(status=3), *words[2:]])
    done = CliRunner().invoke(roll, [*arguments, "--yes", *words, "--offline"])

    assert 1 == done.exit_code
    assert "was begun without --offline" in done.output


def test_back_without_a_journal_is_refused(cluster):
    done = cluster.roll("--back")

    assert 1 == done.exit_code
    assert "expected the journal of what is to be rolled back" in done.output


def test_a_file_that_is_no_journal_is_refused_with_its_line(cluster):
    cluster.journal.write_text("hello\n")
    done = cluster.roll("--yes")

    assert 1 == done.exit_code
    assert f"{cluster.journal}, line 1: expected a record of a roll" in done.output


USERS = '{"my":"only copy"}'


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--journal", "line 1: expected a record of a roll"),
        ("--report", "got {} with something else"),
    ],
)
def test_a_file_of_the_user_is_neither_journal_nor_report(cluster, option, message):
    file = cluster.folder / "mine"
    file.write_text(USERS)
    done = cluster.roll("--yes", option, file)

    assert (1, USERS, []) == (done.exit_code, file.read_text(), cluster.lines)
    assert message.format(file) in done.output


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("--journal", "--report"),
        ("--journal", "--instances"),
        ("--journal", "--config"),
        ("--journal", "--command-config"),
        ("--report", "--instances"),
        ("--report", "--config"),
    ],
)
@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to, None])
def test_a_file_that_is_written_is_no_other_file_of_the_command(cluster, first, second, link):
    file, other = cluster.folder / "one", cluster.folder / "other"
    file.touch()
    if link:
        link(other, file)
    done = cluster.roll("--yes", first, file, second, other if link else cluster.folder / "." / "one")

    assert (2, []) == (done.exit_code, cluster.lines)
    assert "expected different files, got" in done.output
    assert not file.read_text()


@pytest.mark.parametrize("name", ["no/report.md", "pipe"])
def test_a_report_that_cannot_be_written_is_found_before_anything_is_done(cluster, name):
    """A pipe that nobody reads was found when it was full, with the lock held."""
    os.mkfifo(cluster.folder / "pipe")
    done = cluster.roll("--yes", "--report", cluster.folder / name)

    assert (1, []) == (done.exit_code, cluster.lines)
    assert "the report cannot be written" in done.output


def test_an_earlier_report_is_written_again_and_none_stays_of_a_roll_that_did_not_begin(cluster):
    assert 0 == cluster.roll("--yes").exit_code
    assert 0 == cluster.roll("--yes").exit_code
    assert cluster.report.read_text().startswith("# app: 3.9.2 to 4.3.1: finished")
    cluster.journal.write_text("hello")
    report = cluster.folder / "new.md"

    assert (1, False) == (cluster.roll("--yes", "--report", report).exit_code, report.exists())


def test_a_report_may_go_to_a_device(cluster):
    assert 0 == cluster.roll("--yes", "--report", "/dev/null").exit_code


def test_a_name_that_a_program_could_read_as_more_is_refused(cluster):
    names = cluster.folder / "instances"
    names.write_text("A;rm A\nB\nC\n")
    done = cluster.roll("--yes", "--instances", names)

    assert (1, []) == (done.exit_code, cluster.lines)
    assert "for {instance}, got 'A;rm'" in done.output


@pytest.mark.parametrize("name", ["A;touch${IFS}x", "--delete=all"])
def test_names_of_a_journal_are_checked_as_those_of_a_new_plan(cluster, name):
    """The command of the first call had no name in its words, or the file was changed."""
    names = cluster.folder / "instances"
    names.write_text(f"{name} A\nB\nC\n")
    first = cluster.roll("--yes", "--instances", names, command="false")
    again = cluster.roll("--instances", names, "--answer", "again")

    assert (3, 1, []) == (first.exit_code, again.exit_code, cluster.lines)
    assert f"for {{instance}}, got '{name}'" in again.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\nB\n", "expected members of A and B in the group, got C-StreamThread-1 (C.local, C-3)"),
        ("A\nB\nC\nD\n", "no member of the group is D"),
        ("A\nA\n", "line 2: expected a new NAME"),
        ("A b c\n", "line 1: expected a new NAME"),
        ("# nobody\n", "expected a line for each instance, got none"),
    ],
)
def test_instances_that_are_not_those_of_the_group_are_refused(cluster, text, message):
    names = cluster.folder / "instances"
    names.write_text(text)
    done = cluster.roll("--yes", "--instances", names)

    assert 1 == done.exit_code
    assert message in done.output


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_instances_are_named_by_a_file_in_its_order(cluster, encoding):
    names = cluster.folder / "instances"
    names.write_text("A # the first\nC C.local\nB B.local\n", encoding)
    done = cluster.roll("--yes", "--instances", names)

    assert 0 == done.exit_code, done.output
    assert ["A>4.3.1", "C>4.3.1", "B>4.3.1"] == cluster.lines
