"""What a person types and sees: the table, the explanation, the exit status."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignor.cli import cli

ROOT = Path(__file__).parent.parent.parent.parent
CAPTURES = ROOT / "tests/captures"
AGREES = CAPTURES / "2.0.1-to-2.3.1.json"


def run(*arguments):
    return CliRunner().invoke(cli, ["conform", *map(str, arguments)])


@pytest.fixture
def differs(tmp_path):
    """The capture, said to be of a release with KAFKA-8649."""
    path = tmp_path / "wrong.json"
    path.write_text(AGREES.read_text().replace('"2.3.1', '"2.3.0'))
    return path


def test_captures_that_agree_are_rows_of_a_table():
    result = run(AGREES, CAPTURES / "1.1.1-to-2.0.1-without-upgrade-from-leader-last.json")
    head, one, other, _, last = result.output.splitlines()

    assert 0 == result.exit_code
    assert ["capture", "generations"] == head.split()[:2]
    assert ["2.0.1-to-2.3.1", "9", "24", "24", "9", "of", "9", "-", "agrees", "agrees"] == one.split()
    assert "1 of 1" in other
    assert "2 of 2 agree" == last


def test_the_first_generation_that_differs_is_explained(differs):
    result = run(AGREES, differs)

    assert 1 == result.exit_code
    for line in (
        "wrong differs in generation 6, step by step:",
        "  peer-0 gets supported version: captured 3, ours 4",
        "  because peer-0 leads as 2.3.0 (rules g2), and heard peer-0 3/4, peer-1 4/4, peer-2 3/3",
        "    peer-2           2.0.1  3/3    3/3   3/3   3/4   0_2,0_5       0_2,0_5",
        "1 of 2 agree",
    ):
        assert line in result.output.splitlines()


def test_every_generation_can_be_told():
    capture = CAPTURES / "2.3.1-to-2.0.1-downgrade-store-files-unreadable.json"
    died = CAPTURES / "1.1.1-to-2.0.1-without-upgrade-from-leader-last.json"
    output = run("-v", capture, died).output

    assert "  generation 6: nobody is there\n" in output
    assert 12 + 6 == sum(line.startswith("  generation ") for line in output.splitlines())
    assert "instance 0 (2.0.1) ended for a reason that is not in these rules" in output
    assert "peer-0 (1.1.1) dies in generation 4: TaskAssignmentException: unable to decode" in output


def test_json_is_a_line_for_each_file(differs):
    result = run("--json", AGREES, differs)
    good, bad = map(json.loads, result.output.splitlines())

    assert 1 == result.exit_code
    assert ["2.0.1-to-2.3.1", "agrees", 9, 24, 24] == [
        good[key] for key in ("capture", "verdict", "generations", "subscriptions", "answers")
    ]
    assert "differs" == bad["verdict"] == bad["step_by_step"]["verdict"] == bad["end_to_end"]["verdict"]
    assert {
        "generation": 6,
        "member": "peer-0",
        "what": "gets supported version",
        "captured": "3",
        "ours": "4",
        "why": "peer-0 leads as 2.3.0 (rules g2), and heard peer-0 3/4, peer-1 4/4, peer-2 3/3",
    } == bad["step_by_step"]["differences"][0]
    assert {"version": 3, "supported": 3, "error_code": 0, "active": ["0_0", "0_1"], "standby": []} == (
        bad["step_by_step"]["generations"][5]["members"][0]["captured"]["gets"]
    )


@pytest.mark.parametrize(
    "text", ["", "[]", '{"generations": []}', "\0\xff", '{"generations": [{"protocol": "range"}]}']
)
def test_a_file_that_is_no_capture_is_one_line(tmp_path, text):
    path = tmp_path / "no.json"
    path.write_text(text, encoding="latin-1")
    result = run(AGREES, path)

    assert 2 == result.exit_code
    assert result.output.startswith(f"Error: {path} is no capture: ")
    assert 1 == len(result.output.splitlines())


def test_a_capture_comes_from_standard_input():
    result = CliRunner().invoke(cli, ["conform", "-"], input=AGREES.read_bytes())
    wrong = CliRunner().invoke(cli, ["conform", "-"], input=b"")

    assert result.output.splitlines()[1].startswith("stdin ")
    assert "1 of 1 agree" == result.output.splitlines()[-1]
    assert wrong.output.startswith("Error: stdin is no capture: ")


def test_all_files_that_are_no_captures_are_named(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text("{}")

    assert 2 == len(run(tmp_path / "one", tmp_path / "two").output.splitlines())


def test_a_release_that_nobody_knows_is_wrong_input(tmp_path):
    path = tmp_path / "new.json"
    path.write_text(AGREES.read_text().replace('"2.3.1', '"9.9.9'))
    result = run(path)

    assert 2 == result.exit_code
    assert "step '9.9.9': unknown release '9.9.9'; known are 0.10.0.0 to " in result.output


def test_a_name_that_plays_with_the_terminal_is_shown_as_it_is(differs):
    text = differs.read_text().replace("peer-0-StreamThread-1-consumer", r"\u001b[31mpeer-0")
    differs.write_text(text)

    assert "\x1b" not in run("-v", differs).output


@pytest.mark.parametrize("arguments", [(), ("nowhere.json",), (CAPTURES,)])
def test_files_have_to_be_there(arguments):
    assert 2 == run(*arguments).exit_code
