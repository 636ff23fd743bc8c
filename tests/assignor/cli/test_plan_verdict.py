"""The verdict of `plan`: on its first line, in its object, and resolved by what is known of the topology."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan

TOPOLOGIES = Path(__file__).parents[2] / "upgrade" / "topologies"
BOTH = "foreign-key-joins,repartitioned-tables"


def run(*arguments):
    return CliRunner().invoke(plan, [str(each) for each in arguments], terminal_width=100)


def first_line(*arguments):
    return run(*arguments).output.splitlines()[0]


def plain(*arguments):
    return json.loads(run(*arguments, "--json").output)


def test_the_first_line_has_the_verdict_and_its_conditions():
    assert "2.0.1 to simulated-4: safe: one rolling bounce, no configuration" == first_line("2.0.1", "simulated-4")
    assert first_line("2.8", "3.9").startswith(
        "2.8.2 to 3.9.2: safe-if: one rolling bounce, no configuration, if the topology has no foreign-key joins and "
        "no repartitioned tables; else two rolling bounces, as below; "
    )
    assert "which foreign-key joins make unsafe" in first_line("2.8", "3.3")


@pytest.mark.parametrize("origin", ["2.0.1", "2.1.1", "2.3.0"])
def test_members_of_leaders_that_probe_with_wrong_answers_are_never_probed(origin):
    """The plan had the line of the old release as value, the verdict safe, and KAFKA-8649 in a note."""
    found = plain(origin, "3.9")

    assert ("safe", [], "two_bounces", "1.1") == tuple(
        found[key] for key in ("verdict", "conditions", "plan", "upgrade_from")
    )
    assert not [note for note in found["warnings"] if "KAFKA-8649" in note]


def test_one_topic_and_one_thread_need_no_second_bounce_from_2_0():
    known = ("--topology", TOPOLOGIES / "plain-1.1.1.txt")
    one_thread = ("--without", "second-thread")

    assert "if the application has no second source topic and no second thread in a" in first_line("2.0", "2.3.1")
    assert ("safe", "one_bounce") == tuple(
        plain("2.0", "2.3.1", "--without", "second-source-topic,second-thread")[key] for key in ("verdict", "plan")
    )
    assert ("safe", "two_bounces") == tuple(
        plain("2.0", "2.3.1", *known, *one_thread)[key] for key in ("verdict", "plan")
    )


def test_stateless_subtopologies_decide_from_2_3_to_2_8():
    """L7: the verdict was safe, with a note that the leader fails."""
    mixed = TOPOLOGIES / "stream-repartition-2.4.1.txt"

    assert ("safe-if", ["no stateless-subtopologies"]) == tuple(
        plain("2.3", "2.8")[key] for key in ("verdict", "conditions")
    )
    assert ("unsafe", 1) == (
        plain("2.3", "2.8", "--topology", mixed)["verdict"],
        run("2.3", "2.8", "--topology", mixed).exit_code,
    )
    resolved = plain("2.3", "2.8", "--without", "stateless-subtopologies")
    assert ("safe", []) == (resolved["verdict"], [note for note in resolved["warnings"] if "stateless" in note])


def test_the_object_has_the_verdict_and_its_conditions_at_the_top():
    found = plain("2.8", "3.9")

    assert ("safe-if", ["no foreign-key-joins", "no repartitioned-tables"]) == (found["verdict"], found["conditions"])
    assert {"plan": "one_bounce", "upgrade_from": None} == found["if_met"]
    assert ("two_bounces", "2.8") == (found["plan"], found["upgrade_from"])


def test_without_resolves_the_verdict():
    assert ("safe", [], "one_bounce") == tuple(
        plain("2.8", "3.9", "--without", BOTH)[key] for key in ("verdict", "conditions", "plan")
    )
    assert ["no repartitioned-tables"] == plain("2.8", "3.9", "--without", "foreign-key-joins")["conditions"]
    assert "foreign-key joins" not in run("2.8", "3.9", "--without", "foreign-key-joins").output.partition("or, if")[0]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("topology", "target", "verdict", "kind", "status"),
    [
        ("plain-2.8.2", "3.9", "safe", "one_bounce", 0),
        ("stream-repartition-2.8.2", "3.9", "safe", "one_bounce", 0),
        ("foreign-key-join-2.8.2", "3.9", "safe", "two_bounces", 0),
        ("named-repartitioned-table-2.8.2", "3.9", "safe", "two_bounces", 0),
        ("named-repartitioned-table-2.8.2", "3.3", "safe", "one_bounce", 0),
        ("foreign-key-join-2.8.2", "3.3", "unsafe", "two_bounces", 1),
    ],
)
def test_a_topology_resolves_the_verdict(topology, target, verdict, kind, status):
    arguments = ("2.8", target, "--topology", TOPOLOGIES / f"{topology}.txt")

    assert (verdict, kind) == (plain(*arguments)["verdict"], plain(*arguments)["plan"])
    assert status == run(*arguments).exit_code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--without", "joins"),
            "unknown feature 'joins': expected foreign-key-joins or repartitioned-tables or stateless",
        ),
        (("--without", " , "), "no feature is named"),
        (
            ("--topology", Path(__file__).parents[3] / "LICENSE"),
            "expected the text of Topology#describe()",
        ),
        (("--without", BOTH, "--topology", TOPOLOGIES / "plain-2.8.2.txt"), "leave this out of --without"),
        (("--brokers", "--without", BOTH), "for a Streams group"),
    ],
)
def test_a_mistake_is_named(arguments, words):
    result = run("2.8", "3.9", *arguments)

    assert 2 == result.exit_code
    assert words in " ".join(result.output.split())


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "topology").write_bytes(b"\xff\xfe\x00")
    result = run("2.8", "3.9", "--topology", tmp_path / "topology")

    assert (2, True) == (result.exit_code, "cannot read" in result.output)


@pytest.mark.parametrize("group", [(), ("--members", 3), ("--offline",), ("--without", BOTH)])
def test_the_same_release_is_already_there(group):
    """It was an error with status 2."""
    text, found = run("3.9", "3.9.2", *group), plain("3.9", "3.9", *group)

    assert (0, "3.9.2 to 3.9.2: safe: already there, nothing to do") == (text.exit_code, text.output.strip())
    assert ("safe", None, [], ["already there"]) == tuple(found[key] for key in ("verdict", "plan", "steps", "notes"))
