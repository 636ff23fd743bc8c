"""``plan``: the way back, hazards, compared topologies, and what was checked."""

import json

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan import application
from streams_assignor.cli.plan.command import plan
from tests.upgrade.hazards.test_topologies import REPARTITIONED


class StubImpact:
    """A group that was not simulated."""

    safe = True

    def as_json(self):
        return {}


def run(*arguments):
    return CliRunner().invoke(plan, [str(argument) for argument in arguments], terminal_width=100)


@pytest.fixture(name="topologies")
def fixture_topologies(tmp_path):
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text(REPARTITIONED)
    new.write_text(REPARTITIONED.replace("0000000002", "0000000007"))
    return old, new


@pytest.mark.parametrize("arguments", [("2.8", "4.3"), ("4.3", "2.8"), ("1.1", "2.0", "--offline"), ("3.9.1", "3.9.2")])
def test_every_plan_ends_with_what_was_checked_and_what_was_not(arguments):
    last = run(*arguments).output.splitlines()[-1]

    assert last.startswith("checked: metadata versions, ")
    assert "; not checked: your code and configuration, " in last


def test_every_step_has_its_way_back_and_its_source():
    brief, lines = (run("2.8", "4.3", *flag).output.splitlines() for flag in ((), ("-v",)))

    assert 2 == sum(line.startswith("   way back:   lossy: ") for line in lines)
    assert 2 == sum(line.startswith("   source:     KAFKA-13769, KIP-904, upgrade guide of 4.3, ") for line in lines)
    assert 1 == brief.count(
        "   way back:   lossy: to 2.8.2 until upgrade.from is removed, empty stores, static members after their session"
    )
    assert 2 == brief.count("   source:     KAFKA-13769, KIP-904, upgrade guide of 4.3")


def test_a_hazard_has_its_remedy_and_its_evidence():
    output = run("4.2", "4.3.0", "-v").output

    assert "- stops: stores on disk (RocksDB): memory outside the heap grows with every task that is closed\n" in output
    assert "    remedy: take 4.3.1 (leak-of-4.3.0)\n    source: KAFKA-20616, KAFKA-20688; read, not run\n" in output


def test_compared_topologies_name_the_changelogs_that_are_left(topologies):
    output = run("3.9", "4.3", "--topologies", *topologies).output

    assert "topologies: APPLICATION-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog is orphaned" in output
    assert "task ids and changelogs; not checked: " in output.splitlines()[-1]


@pytest.mark.parametrize("ends", [("3.9", "4.3"), ("3.9", "3.9"), ("2.3", "4.3"), ("1.1", "2.0")])
def test_a_topology_that_must_not_be_rolled_decides_the_whole_plan(topologies, ends):
    """Only the last lines said so, below "safe" and a status of 0."""
    done, plain = run(*ends, "--topologies", *topologies), run(*ends, "--json", "--topologies", *topologies)
    found = json.loads(plain.output)

    assert (1, 1) == (done.exit_code, plain.exit_code)
    assert "unsafe: do not roll: the topologies differ, see below" in done.output.splitlines()[0]
    assert "topologies: do not roll: stop the group" in done.output
    assert ("unsafe", False) == (found["verdict"], found["topologies"]["compatible"])
    assert "do not roll: the topologies differ, see below" == found["notes"][0]


def test_a_group_that_stops_may_change_its_topology(topologies):
    for ends in (("3.9", "4.3"), ("3.9", "3.9")):
        done = run(*ends, "--offline", "--topologies", *topologies)
        assert (0, True) == (done.exit_code, ": safe" in done.output.splitlines()[0])


@pytest.mark.unmeasured
@pytest.mark.parametrize("ends", [("4.3", "4.4"), ("4.4", "4.4"), ("4.2.2", "4.4.0")])
@pytest.mark.parametrize(("protocol", "status"), [("", 3), ("classic", 0), ("streams", 1), ("${PROTOCOL}", 3)])
def test_a_new_topology_is_safe_only_if_the_group_is_shown_to_be_no_streams_group(
    topologies, tmp_path, ends, protocol, status
):
    """ "safe", status 0, with one conditional line below; a member of a streams group does not start."""
    settings = tmp_path / "a.properties"
    settings.write_text(f"group.protocol={protocol}\n" if protocol else "")
    arguments = (*ends, "--offline", "--topologies", *topologies, *(("--config", settings) if protocol else ()))
    done, plain = run(*arguments), run(*arguments, "--json")

    assert done.exit_code == plain.exit_code, done.output
    assert status == done.exit_code or (status == 0 and "the files do not rule out" in done.output)
    assert (status == 3) == ("exit status 3: nothing shows whether this is a streams group" in done.output)
    assert (status == 3) == any("nothing shows whether" in note for note in json.loads(plain.output)["notes"])


def test_the_same_topology_in_the_same_release_is_nothing_to_do(topologies):
    done = run("3.9", "3.9", "--topologies", topologies[0], topologies[0])

    assert 0 == done.exit_code
    assert "3.9.2 to 3.9.2: safe: already there, nothing to do" in done.output
    assert "topologies: the same tasks" in done.output


def test_a_plan_for_a_release_that_was_assumed_says_so_first_and_was_not_checked():
    for arguments in (("3.9", "4.9"), ("--brokers", "4.2", "4.9"), ("4.2", "4.9", "--to-protocol", "streams")):
        lines = run(*arguments, "--assume", "4.3").output.splitlines()
        assert " is assumed to behave like 4.3" in lines[0]
    last = run("3.9", "4.9", "--assume", "4.3").output.splitlines()[-1]
    assert last.startswith("not checked: 4.9.0 is assumed to behave like 4.3.1, metadata versions")


def test_compared_topologies_are_a_key_of_the_object(topologies):
    found = json.loads(run("3.9", "4.3", "--json", "--topologies", topologies[0], topologies[0]).output)

    assert found["topologies"]["compatible"]
    assert "task ids and changelogs" in found["checked"]


def test_a_file_that_is_no_topology_is_named(topologies):
    topologies[1].write_text("")
    done = run("3.9", "4.3", "--topologies", *topologies)

    assert 2 == done.exit_code
    assert "new.txt: expected the text of Topology#describe()" in " ".join(done.output.split())


def test_brokers_have_no_topologies(topologies):
    done = run("--brokers", "3.9", "4.3", "--kraft", "--topologies", *topologies)

    assert 2 == done.exit_code
    assert "--topologies is for a Streams group" in done.output


@pytest.mark.parametrize(
    ("arguments", "second"),
    [
        (("2.8", "2.5", "--static"), "static members: unsafe while a session lasts: "),
        (("2.8", "2.5", "--static", "--offline"), ""),
        (("2.5", "2.8", "--static"), ""),
        (("2.8", "2.5"), ""),
    ],
)
def test_a_downgrade_with_static_members_states_what_becomes_of_them_below_the_verdict(arguments, second, monkeypatch):
    monkeypatch.setattr(application, "estimate_impact", lambda *_, **__: StubImpact())
    monkeypatch.setattr(application, "impact_lines", lambda _: ())

    first, line = run(*arguments).output.splitlines()[:2]

    assert ": safe" in first
    assert line.startswith(second)
    assert bool(line) == bool(second)


def test_a_topology_that_is_no_text_in_utf_8_is_refused(topologies):
    """Different bytes became the same character, so a changed name could seem unchanged."""
    topologies[1].write_bytes(REPARTITIONED.encode() + b"\xff")
    done = run("3.9", "4.3", "--topologies", *topologies)

    assert 2 == done.exit_code
    expected = f"expected text in utf-8, got {topologies[1]} with other bytes at {len(REPARTITIONED.encode())}"
    assert "".join(expected.split()) in "".join(done.output.split())
