"""The output of the command: table, explanation, exit status."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.upgrade.releases import NEWEST

ROOT = Path(__file__).parent.parent.parent.parent
CAPTURES = ROOT / "tests/captures"
AGREES = CAPTURES / "2.0.1-to-2.3.1.json"


ENGINE = "in this process, without Spark\n"
"""What says where captures are compared, on standard error."""


def run(*arguments):
    return CliRunner().invoke(cli, ["conform", *map(str, arguments)])


def errors(done):
    return done.stderr.removeprefix(ENGINE)


@pytest.fixture
def differs(tmp_path):
    """The capture, with a release that has KAFKA-8649."""
    path = tmp_path / "wrong.json"
    path.write_text(AGREES.read_text().replace('"2.3.1', '"2.3.0'))
    return path


def test_captures_that_agree_are_rows_of_a_table():
    result = run(AGREES, CAPTURES / "1.1.1-to-2.0.1-without-upgrade-from-leader-last.json")
    head, one, other, _, last = result.stdout.splitlines()

    assert 0 == result.exit_code
    assert ["capture", "generations"] == head.split()[:2]
    assert ["2.0.1-to-2.3.1", "9", "24", "24", "9", "of", "9", "-", "agrees", "agrees"] == one.split()
    assert "1 of 1" in other
    assert "2 of 2 agree" == last


def test_what_a_newer_release_behaves_like_may_be_assumed(tmp_path):
    path = tmp_path / "newer.json"
    text = (CAPTURES / "broker-4.3.1-3.9.2-to-4.3.1.json").read_text()
    path.write_text(text.replace('"4.3.1', '"4.9.1'))

    assert 2 == run(path).exit_code
    done = run("--json", "--assume", "4.3", path)
    assert (0, "note: 4.9.1 is assumed to behave like 4.3.1\n") == (done.exit_code, errors(done))
    assert ["4.9.1 is assumed to behave like 4.3.1"] == json.loads(done.stdout)["assumed"]


def test_a_capture_may_name_a_vendors_release(tmp_path):
    path = tmp_path / "vendor.json"
    text = (CAPTURES / "broker-4.3.1-3.9.2-to-4.3.1.json").read_text()
    path.write_text(text.replace('"4.3.1', '"8.3.1-ccs'))

    done = run("--json", path)
    assert 0 == done.exit_code
    assert "note: 8.3.1-ccs can be any release from 4.3.0 to 4.3.1; it is taken for 4.3.0\n" in done.stderr
    assert "Confluent Platform 8.3 contains Kafka 4.3" in json.loads(done.stdout)["assumed"]


def test_the_first_generation_that_differs_is_explained(differs):
    result = run(AGREES, differs)

    assert 1 == result.exit_code
    for line in (
        "wrong differs in generation 6, step by step:",
        "  peer-0 receives supported version: captured 3, ours 4",
        "  because peer-0 leads as 2.3.0 (rules g2), and received peer-0 3/4, peer-1 4/4, peer-2 3/3",
        "    peer-2           2.0.1  3/3    3/3   3/3       3/4   0_2,0_5       0_2,0_5",
        "1 of 2 agree",
    ):
        assert line in result.stdout.splitlines()


def test_verbose_shows_every_generation():
    capture = CAPTURES / "2.3.1-to-2.0.1-downgrade-store-files-unreadable.json"
    failed = CAPTURES / "1.1.1-to-2.0.1-without-upgrade-from-leader-last.json"
    output = run("-v", capture, failed).output

    assert "  generation 6: no members\n" in output
    assert 12 + 6 == sum(line.startswith("  generation ") for line in output.splitlines())
    assert "instance 0 (2.0.1) ended for a reason outside the protocol" in output
    assert "peer-0 (1.1.1) fails in generation 4: TaskAssignmentException: unable to decode" in output


def test_a_failure_of_a_known_bug_names_the_bug():
    name = "2.0.1-to-2.2.0-leader-last-kafka-8649-two-subtopologies"
    output = run("-v", ROOT / f"tests/spark_sim/conformance/captures/{name}.json").output

    assert "peer-0 (2.0.1) fails in generation 4: NullPointerException: task 0_0 comes with " in output
    assert "does not read (B6, with KAFKA-8649); in the capture its process had ended\n" in output
    assert "outside the protocol" not in output


def test_json_is_a_line_for_each_file(differs):
    result = run("--json", AGREES, differs)
    good, bad = map(json.loads, result.stdout.splitlines())

    assert 1 == result.exit_code
    assert ["2.0.1-to-2.3.1", "agrees", 9, 24, 24] == [
        good[key] for key in ("capture", "verdict", "generations", "subscriptions", "answers")
    ]
    assert "differs" == bad["verdict"] == bad["step_by_step"]["verdict"] == bad["end_to_end"]["verdict"]
    assert {
        "generation": 6,
        "member": "peer-0",
        "what": "receives supported version",
        "captured": "3",
        "ours": "4",
        "why": "peer-0 leads as 2.3.0 (rules g2), and received peer-0 3/4, peer-1 4/4, peer-2 3/3",
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
    result = run(path)

    assert 2 == result.exit_code
    assert "" == result.stdout
    assert errors(result).startswith(f"Error: {path} is not a capture: ")
    assert 1 == len(errors(result).splitlines())


def test_a_file_that_is_no_capture_does_not_take_the_others_with_it(tmp_path, differs):
    """The results of the readable files had been discarded."""
    broken = tmp_path / "broken.json"
    broken.write_text('{\n "generations": [}]')
    result = run(AGREES, broken, differs, tmp_path / "nowhere.json", tmp_path)

    assert 2 == result.exit_code
    assert ["2.0.1-to-2.3.1", "wrong"] == [line.split()[0] for line in result.stdout.splitlines()[1:3]]
    assert "wrong differs in generation 6, step by step:" in result.stdout
    assert "1 of 2 agree" == result.stdout.splitlines()[-1]
    assert [
        f"Error: {broken} is not a capture: expected JSON (Expecting value) at line 2 column 18, got '}}]'",
        f"{tmp_path / 'nowhere.json'} cannot be read: expected a file, got: No such file or directory",
        f"{tmp_path} cannot be read: expected a file, got: Is a directory",
    ] == errors(result).splitlines()


def test_json_has_a_line_for_a_file_that_is_no_capture(tmp_path):
    (tmp_path / "cut.json").write_text("")
    result = run("--json", AGREES, tmp_path / "cut.json", AGREES)
    rows = [json.loads(line) for line in result.stdout.splitlines()]

    assert 2 == result.exit_code
    assert ["agrees", "unreadable", "agrees"] == [row["verdict"] for row in rows]
    assert rows[1]["error"].endswith("at line 1 column 1, got the end")


def test_inferred_steps_are_shown(tmp_path):
    path = tmp_path / "bare.json"
    path.write_text(json.dumps({"generations": json.loads(AGREES.read_text())["generations"]}))
    result = run(path)
    (row,) = map(json.loads, run("--json", path).stdout.splitlines())

    assert 0 == result.exit_code
    assert (
        'bare: it has no steps; it agrees with the steps inferred from its messages: "2.0.1", "2.3.1".' in result.stdout
    )
    assert ["2.0.1", "2.3.1"] == row["inferred_steps"]
    assert 'add "steps"' in row["hint"]
    assert json.loads(run("--json", AGREES).stdout)["hint"] is None


def test_a_capture_without_steps_that_nothing_explains_is_incomplete(tmp_path):
    capture = json.loads(AGREES.read_text())
    one, other, *_ = capture["generations"][3]["members"]
    one["assignment"] = other["assignment"]
    path = tmp_path / "bare.json"
    path.write_text(json.dumps({"generations": capture["generations"]}))
    result = run(AGREES, path)
    (row,) = map(json.loads, run("--json", path).stdout.splitlines())

    assert 1 == result.exit_code
    assert "bare is incomplete: no inferred steps explain the difference in generation 4, step by step:" in (
        result.stdout
    )
    assert "bare: it has no steps, and differs with all steps that were tried" in result.stdout
    assert "1 of 2 agree, 1 incomplete" == result.stdout.splitlines()[-1]
    assert "incomplete" == row["verdict"] == row["step_by_step"]["verdict"]


def test_a_capture_comes_from_standard_input():
    result = CliRunner().invoke(cli, ["conform", "-"], input=AGREES.read_bytes())
    wrong = CliRunner().invoke(cli, ["conform", "-"], input=b"")

    assert result.stdout.splitlines()[1].startswith("stdin ")
    assert "1 of 1 agree" == result.stdout.splitlines()[-1]
    assert wrong.output.startswith("Error: stdin is not a capture: ")


def test_all_files_that_are_no_captures_are_named(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text("{}")

    assert 2 == len(run(tmp_path / "one", tmp_path / "two").output.splitlines())


def test_an_unknown_release_is_wrong_input(tmp_path):
    path = tmp_path / "new.json"
    path.write_text(AGREES.read_text().replace('"2.3.1', '"9.9.9'))
    result = run(path)

    assert 2 == result.exit_code
    assert f"step '9.9.9': unknown release '9.9.9': newer than this version knows ({NEWEST})" in result.stderr


def test_control_characters_of_a_name_are_escaped(differs):
    text = differs.read_text().replace("peer-0-StreamThread-1-consumer", r"\u001b[31mpeer-0")
    differs.write_text(text)

    assert "\x1b" not in run("-v", differs).output


@pytest.mark.parametrize("arguments", [(), ("nowhere.json",), (CAPTURES,)])
def test_files_have_to_be_there(arguments):
    assert 2 == run(*arguments).exit_code
