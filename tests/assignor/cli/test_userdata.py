"""``streams-assignor userdata``: output for programs and for people, also for invalid bytes."""

import base64
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from streams_assignor.cli import _captures
from streams_assignor.cli.main import cli
from streams_assignor.codec import LATEST_SUPPORTED_VERSION
from streams_assignor.formats.jsonl import convert_lines, json_object
from streams_assignor.formats.metadata_json import METADATA_KINDS, DecodeOptions
from tests.draws import examples

TESTS = Path(__file__).parents[2]
CAPTURES = sorted((TESTS / "captures").glob("*.json"))
ROWS = [json.loads(line) for line in (TESTS / "vectors/codec.jsonl").open()]
FUTURE = {"kind": "subscription", "hex": "0000000c0000000c"}
EMPTY = {"version": 1, "fields": {"version": 1, "activeTasks": [], "standbyTasks": []}}
EMPTY_HEX = "000000010000000000000000"
ENVELOPE = "000000000001000464617461000000020000cafe"  # one topic, userdata cut short, two bytes more

each_capture = pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)


def run(*arguments, stdin=""):
    return CliRunner().invoke(cli, ("userdata", *arguments), input=stdin)


def lines(objects):
    return "".join(json.dumps(each) + "\n" for each in objects)


def results(result):
    return [json.loads(line) for line in result.output.splitlines()]


def one(*arguments, line):
    (result,) = results(run(*arguments, "--jsonl", stdin=line if isinstance(line, str) else json.dumps(line)))
    return result


def all_encoded(path):
    for generation in json.loads(path.read_text())["generations"]:
        for member in generation["members"]:
            yield {"kind": "member-subscription", "hex": member["subscription"]}
            if member["assignment"]:
                yield {"kind": "member-assignment", "hex": member["assignment"]}


# -- lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.unmeasured
def test_decode_and_encode_are_inverse_on_the_rows_of_the_jars():
    rows = [row for row in ROWS if "fields" in row]
    decoded = results(run("decode", "--jsonl", stdin=lines(rows)))
    encoded = results(run("encode", "--jsonl", stdin=lines(rows)))

    assert [{"version": row["version"], "fields": row["fields"]} for row in rows] == decoded
    assert [{"hex": row["hex"]} for row in rows] == encoded


@each_capture
def test_whole_messages_of_real_members_survive_decoding_and_encoding(path):
    messages = list(all_encoded(path))
    decoded = results(run("decode", "--jsonl", stdin=lines(messages)))
    encoded = results(run("encode", "--jsonl", stdin=lines(row | d for row, d in zip(messages, decoded, strict=True))))

    assert [{"hex": message["hex"]} for message in messages] == encoded
    assert all("fields" in message["fields"]["userData"] for message in decoded)


def test_the_userdata_of_a_whole_message_is_what_a_line_of_userdata_gives():
    message = f"000100000000{len(EMPTY_HEX) // 2:08x}{EMPTY_HEX}"

    assert {
        "version": 1,
        "fields": {"version": 1, "assignedPartitions": [], "userData": EMPTY},
    } == one("decode", line={"kind": "member-assignment", "hex": message})


def test_invalid_userdata_does_not_hide_the_message_around_it():
    result = run("decode", "--kind", "member-subscription", stdin=ENVELOPE)
    (message,) = results(result)

    assert 1 == result.exit_code
    assert ["data"] == message["fields"]["topics"]
    assert ("Truncated", 0) == (message["fields"]["userData"]["error"], message["fields"]["userData"]["offset"])
    assert "cafe" == message["fields"]["trailing"]


@pytest.mark.parametrize(
    ("user_data", "expected"),
    [
        (None, "ffffffff"),
        ("cafe", "00000002cafe"),
        (EMPTY, f"0000000c{EMPTY_HEX}"),
    ],
)
def test_userdata_in_a_message_is_given_as_null_hex_or_fields(user_data, expected):
    line = {"kind": "member-assignment", "fields": {"version": 0, "userData": user_data, "trailing": "00"}}

    assert {"hex": f"000000000000{expected}00"} == one("encode", line=line)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "version: must be 0 or more, got None"),
        ({"version": -1}, "version: must be 0 or more, got -1"),
        ({"version": 40000}, "version: needs an integer of 2 bytes, got 40000"),
        ({"version": 0, "rackId": "a"}, "rackId: member-subscription version 0 has no such field"),
        ({"version": 0, "userData": 5}, 'userData: needs null, hex or {"fields": {...}}'),
        ({"version": 0, "userData": "xy"}, "userData: expected hex, got 'xy'"),
        ({"version": 0, "userData": {"fields": {"version": 99}}}, "userData.version: must be one of 1 to 11, got 99"),
        ({"version": 0, "topics": [1]}, "topics[0]: needs a text"),
        ({"version": 0, "trailing": 1}, "trailing: expected hex, got '1'"),
    ],
)
def test_encode_names_the_invalid_field_of_a_message(fields, message):
    result = one("encode", line={"kind": "member-subscription", "fields": fields})

    assert "EncodeError" == result["error"]
    assert result["message"].startswith(message)


def test_decode_accepts_bare_hex_with_a_kind():
    assert [EMPTY] == results(run("decode", "--kind", "assignment", stdin="0000 0001 00000000 00000000\n\n"))


def test_decode_accepts_base64_in_a_line_and_bare():
    text = base64.b64encode(bytes.fromhex(EMPTY_HEX)).decode()

    assert EMPTY == one("decode", line={"kind": "assignment", "base64": text})
    assert EMPTY == one("decode", "--kind", "assignment", line=text)


def test_a_future_version_is_marked():
    assert {"version": 12, "latestSupportedVersion": 12, "future": True} == one("decode", line=FUTURE)


def test_the_supported_version_can_be_chosen():
    userdata = "00000004" * 2 + "00" * 28

    assert "future" in one("decode", "--kind", "subscription", "--supported", "3", line=userdata)
    assert "fields" in one("decode", "--kind", "subscription", line=userdata)


@pytest.mark.parametrize("kind", ["assignment", "member-assignment"])
def test_strict_rejects_bytes_after_the_last_field(kind):
    line = {"kind": kind, "hex": (EMPTY_HEX if kind == "assignment" else "000000000000ffffffff") + "cafe"}
    size = len(line["hex"]) // 2

    assert "cafe" == one("decode", line=line)["fields"]["trailing"]
    assert {"error": "TrailingBytes", "offset": size - 2}.items() <= one("decode", "--strict", line=line).items()


def test_encode_imitates_an_old_release():
    line = lines([{"kind": "assignment", "fields": {"version": 1}}])

    assert [{"hex": EMPTY_HEX}] == results(run("encode", stdin=line))
    assert [{"hex": EMPTY_HEX + "00000000"}] == results(run("encode", "--as-release", "1.1.1", stdin=line))


def test_an_unknown_release_is_wrong_usage():
    result = run("encode", "--as-release", "one")

    assert 2 == result.exit_code
    assert "expected a release of Kafka such as 1.1.1, got 'one'" in result.output


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ({"kind": "subscription", "hex": "00000001"}, {"error": "Truncated", "offset": 4, "field": "process_id"}),
        ({"kind": "assignment", "hex": "0000000c"}, {"error": "FutureVersion", "offset": 0}),
        ({"kind": "member-assignment", "hex": "ffff"}, {"error": "BadVersion", "offset": 0}),
        ({"kind": "assignment", "hex": "xyz"}, {"error": "BadLine", "message": "expected hex, got 'xyz'"}),
        ({"kind": "assignment", "base64": "?"}, {"error": "BadLine", "message": "expected base64, got '?'"}),
        ({"kind": "assignment", "base64": 1}, {"error": "BadLine"}),
        ({"kind": "assignment", "hex": float("nan")}, {"error": "BadLine"}),
        ({"kind": "assignment"}, {"error": "BadLine", "message": "expected 'hex' or 'base64' in the line"}),
        ({"kind": "nonsense", "hex": ""}, {"error": "BadLine"}),
        ({"kind": {}, "hex": ""}, {"error": "BadLine"}),
        ({}, {"error": "BadLine"}),
        ([], {"error": "BadLine"}),
    ],
)
def test_a_rejected_line_becomes_an_error_object(line, error):
    first, second = results(run("decode", "--jsonl", stdin=lines([line, FUTURE])))

    assert error.items() <= first.items()
    assert first["message"]
    assert second["future"]


def test_a_bare_line_that_is_neither_hex_nor_base64_is_an_error():
    assert "expected hex or base64, got 'xyz'" == one("decode", "--kind", "assignment", line="xyz")["message"]


@pytest.mark.parametrize("kind", ["subscription", "assignment"])
def test_a_whole_message_taken_for_userdata_gives_a_hint(kind):
    hint = f"this looks like a whole consumer-protocol {kind}: use kind member-{kind}"

    assert {"error": "BadVersion", "hint": hint}.items() <= one("decode", "--kind", kind, line=ENVELOPE).items()
    assert hint in run("explain", "--kind", kind, ENVELOPE).output


@each_capture
def test_a_whole_message_is_recognized_where_userdata_is_expected(path):
    whole = list(all_encoded(path))
    expected = run("decode", "--jsonl", stdin=lines(whole)).output
    listed_as_userdata = [each | {"kind": each["kind"].removeprefix("member-")} for each in whole]

    assert expected == run("decode", "--jsonl", stdin=lines(listed_as_userdata)).output


def test_a_rejected_line_fails_the_command_unless_jsonl_is_set():
    assert 1 == run("decode", "--kind", "assignment", stdin="00").exit_code
    assert 0 == run("decode", "--kind", "assignment", "--jsonl", stdin="00").exit_code


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        '{"kind": "assignment"}',
        '{"kind": "x", "fields": {}}',
        '{"kind": "assignment", "fields": {}}',
        '{"kind": "assignment", "fields": {"version": NaN}}',
        '{"kind": "subscription", "fields": {"version": 1, "prevTasks": ' + "[" * 900 + "]" * 900 + "}}",
        '{"a":' * 100_000,
    ],
)
def test_encode_rejects_invalid_lines(line):
    assert one("encode", line=line)["error"] in {"BadLine", "EncodeError"}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted({name for row in ROWS for name in row.get("fields", ())} | {"userData", "rackId", "ownedPartitions"})


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(METADATA_KINDS), st.integers(0, 12), st.dictionaries(st.sampled_from(NAMES), PLAIN, max_size=3))
def test_invalid_fields_never_raise(kind, version, fields):
    result = run("encode", "--jsonl", stdin=lines([{"kind": kind, "fields": fields | {"version": version}}]))

    assert 0 == result.exit_code, result.exception
    assert {"hex", "error"} & results(result)[0].keys()


@given(st.sampled_from(METADATA_KINDS), st.binary(max_size=60), st.sampled_from(["decode", "explain"]))
def test_invalid_bytes_never_raise(kind, userdata, command):
    result = run(command, "--kind", kind, stdin=userdata.hex())

    assert result.exit_code in {0, 1}, result.exception
    assert result.output or not userdata


@given(st.sampled_from(METADATA_KINDS), st.binary(max_size=60), st.sampled_from(["decode", "encode", "explain"]))
def test_invalid_input_never_raises(kind, raw, command):
    kinds = [] if command == "encode" else ["--kind", kind]

    assert run(command, *kinds, stdin=raw).exit_code in {0, 1, 2}


# -- explain ---------------------------------------------------------------------------------------------------------


def table(*arguments, stdin=""):
    return [re.split(r"\s{2,}", line.strip()) for line in run("explain", *arguments, stdin=stdin).output.splitlines()]


def test_explain_shows_offset_bytes_field_and_value():
    rows = table("--kind", "assignment", "0000000100000001000000000000000300000000")

    assert ["8", "00 00 00 00 00 00 00 03", "activeTasks[0]", "0_3"] in rows


def test_explain_skips_blank_lines():
    assert table(stdin=f"{EMPTY_HEX}\n") == table(stdin=f"\n  \n{EMPTY_HEX}\n\n")


def test_explain_detects_the_kind():
    assert ["read as assignment"] == table("0000000100000001000000000000000300000000")[0]
    assert ["read as assignment"] == table(stdin=json.dumps({"hex": EMPTY_HEX}))[0]
    assert ["read as subscription; the bytes fit --kind assignment too"] == table("000000000000ffffffff")[0]


@pytest.mark.parametrize("given", ["0000000c0000000c0000", "000000000001000161000000080000000c0000000c"])
def test_without_a_kind_a_version_that_no_release_has_is_refused(given):
    """Any 8 bytes were "read as subscription"; the second one is a whole message around such userdata."""
    refused = run("explain", given)

    assert 2 == refused.exit_code
    assert "as subscription: version 12, which no release has (up to 11); as assignment: " in refused.stderr
    assert 0 == run("explain", "--kind", "subscription", given).exit_code


def test_bytes_of_no_kind_are_an_error_that_names_what_each_kind_expected():
    result = run("explain", "0000")

    assert 2 == result.exit_code
    assert "as subscription: version at offset 0: needs 4 bytes, 2 left; as assignment: " in result.stderr


def test_explain_shows_userdata_inside_the_whole_message():
    rows = table("--kind", "member-assignment", f"000000000000{len(EMPTY_HEX) // 2:08x}{EMPTY_HEX}ca")

    assert [
        ["offset", "bytes", "field", "value"],
        ["0", "00 00", "version", "0"],
        ["2", "00 00 00 00", "assignedPartitions.count", "0"],
        ["6", "00 00 00 0c", "userData.length", "12"],
        ["10", "00 00 00 01", "userData.version", "1"],
        ["14", "00 00 00 00", "userData.activeTasks.count", "0"],
        ["18", "00 00 00 00", "userData.standbyTasks.count", "0"],
        ["22", "ca", "trailing", "ignored by every Kafka decoder"],
    ] == rows


@pytest.mark.parametrize(
    ("userdata", "last"),
    [
        (ENVELOPE[:-8], ["12", "00 00 00 02", "userData", "userData at offset 12: 2 items of 1 bytes or more, but 0"]),
        (ENVELOPE, ["18", "ca fe", "trailing", "ignored by every Kafka decoder"]),
        ("000000000000ffffffff", ["6", "ff ff ff ff", "userData", "None"]),
        ("ffff00", ["2", "00", "unknown", "consumer protocol version -1; the lowest is 0"]),
        ("00", ["0", "00", "version", "version at offset 0: needs 2 bytes, 1 left"]),
    ],
)
def test_explain_stops_where_the_message_ends(userdata, last):
    *_, row = table("--kind", "member-subscription", userdata)

    assert last[:3] == row[:3]
    assert row[3].startswith(last[3])


def test_explain_shows_every_byte_once_also_of_unusual_messages():
    """Two groups of one subtopology must not be shown as one."""
    groups = "00000002" + 2 * ("0000000700000001000000010000000000000005")
    rows = table("--kind", "subscription", "000000070000000b" + "00" * 20 + groups)

    assert ["28", "00 00 00 02", "taskOffsetSums.count", "2"] in rows
    assert ["52", "00 00 00 07", "taskOffsetSums[1].subtopology", "7"] in rows


def test_explain_shows_the_error_at_its_offset():
    result = run("explain", "--kind", "assignment", "00000001000000ff")

    assert 1 == result.exit_code
    assert "activeTasks at offset 4: 255 items of 8 bytes or more, but 0 bytes are left" in result.output


def test_explain_shows_an_error_that_is_in_no_field():
    result = run("explain", "--kind", "subscription", "00000003" + "00" * 32)

    assert 1 == result.exit_code
    assert "rejected: supported_version at offset 4: supported version 0, expected 3 or more" in result.output


def test_explain_escapes_control_characters():
    hostile = "\x1b[2J\x07"
    userdata = "00000002" + "00" * 24 + f"{len(hostile):08x}" + hostile.encode().hex()

    assert "\x1b" not in run("explain", "--kind", "subscription", userdata).output


# -- files -----------------------------------------------------------------------------------------------------------


@each_capture
def test_a_capture_gives_a_row_per_generation_and_member(path):
    result = run("decode", str(path))
    found = results(result)

    generations = json.loads(path.read_text())["generations"]
    members = [(group["generation"], member["member_id"]) for group in generations for member in group["members"]]

    assert 0 == result.exit_code
    assert members == [(row["generation"], row["member_id"]) for row in found]
    assert sum(bool(group["members"]) for group in generations) == sum(row["leader"] for row in found)
    assert all(row["subscription"]["fields"]["userData"]["fields"] for row in found)


@each_capture
def test_the_tables_of_a_capture_fit_a_terminal(path):
    console = Console(width=120, record=True, file=sys.stderr)
    console.print(
        _captures.render_capture(_captures.parse_capture(path.read_text(), DecodeOptions(LATEST_SUPPORTED_VERSION)))
    )
    text = console.export_text()

    assert "(leader)" in text
    assert "generation " in text
    assert "…" not in text  # what rich puts where something does not fit


def on_a_terminal(*arguments):
    """The output of the command on a real terminal of 120 columns."""
    ours, theirs = pty.openpty()
    code = "from streams_assignor.cli.main import main; main()"
    command = [sys.executable, "-c", code, "userdata", *arguments]
    environment = os.environ | {"COLUMNS": "120", "TERM": "dumb", "PYTHONPATH": str(TESTS.parent)}
    written = bytearray()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, env=environment) as process:
        os.close(theirs)
        process.stdin.write(json.dumps(FUTURE).encode())
        process.stdin.close()
        with suppress(OSError):  # which is how a terminal reports that its writer has closed it
            while more := os.read(ours, 65536):
                written += more
    os.close(ours)
    return written.decode()


def test_a_terminal_gets_tables_of_a_capture_and_indented_json_of_lines():
    capture = str(TESTS / "captures/4.3.1-to-2.4.1-downgrade.json")

    assert "{" not in on_a_terminal("decode", capture)
    assert json.dumps(results(run("decode", stdin=lines([FUTURE])))[0], indent=2).splitlines() == (
        on_a_terminal("decode").splitlines()
    )
    assert on_a_terminal("decode", "--jsonl", capture).splitlines() == run("decode", capture).output.splitlines()


STRANGE = {
    "generations": [
        {"generation": "\x1b[2J", "leader": None, "members": []},
        {
            "generation": 2,
            "leader": "[red]a",
            "members": [
                {"member_id": "[red]a", "subscription": "xyz", "assignment": "0000"},
                {"subscription": "000000000000" + "00000008" + FUTURE["hex"], "assignment": ""},
                {"subscription": "000000000000ffffffff", "assignment": 5},
            ],
        },
    ]
}


def test_an_invalid_capture_shows_an_error_for_each_message(tmp_path):
    path = tmp_path / "capture.json"
    path.write_text(json.dumps(STRANGE, indent=1))
    result = run("decode", str(path))
    first, second, third = results(result)
    console = Console(width=120, record=True, file=sys.stderr)
    console.print(_captures.render_capture(_captures.parse_capture(path.read_text(), DecodeOptions(11))))
    text = console.export_text()

    assert 1 == result.exit_code
    assert (True, "BadLine", "Truncated") == (
        first["leader"],
        first["subscription"]["error"],
        first["assignment"]["error"],
    )
    assert (True, None) == (second["subscription"]["fields"]["userData"]["future"], second["assignment"])
    assert "BadLine" == third["assignment"]["error"]
    assert all(word in text for word in ("[red]a (leader)", "Truncated", "12/12", "\\x1b[2J: no members"))


def test_tables_show_the_next_rebalance_and_the_error_codes():
    assert ["", "immediately", "2020-09-13 12:26:40", str(2**62)] == [
        _captures._time(each) for each in (2**63 - 1, 0, 1_600_000_000_000, 2**62)
    ]
    assert ["", "0", "sent 4 0"] == [_captures._error(*each) for each in ((None, None), (0, 0), (4, 0))]


def test_a_long_list_of_tasks_is_shortened_and_names_a_task_once():
    tasks = [[0, partition] for partition in range(20)] + [[0, 1], [0, 0, "named"], [0, 0, None]]

    assert _captures._tasks(tasks).plain.startswith("0_0 named__0_0 0_1 0_2")
    assert _captures._tasks(tasks).plain.endswith("… (21)")


def test_a_file_of_lines_is_read_like_standard_input(tmp_path):
    path = tmp_path / "blobs"
    path.write_text("\n" + lines([{"kind": "assignment", "hex": EMPTY_HEX}, FUTURE, {"kind": "?"}]))
    result = run("decode", str(path))

    assert 1 == result.exit_code
    assert run("decode", stdin=path.read_text()).output == result.output
    assert result.output == run("decode", "-", stdin=path.read_text()).output


@pytest.mark.parametrize(
    "content",
    [b"", b"# a text\n", b"\x89PNG\r\n\x1a\n\x00\xff", b"[]", b'{"a": 1}', b'{"generations": [1]}', b'{\n"a"'],
)
def test_a_file_that_is_neither_is_wrong_usage(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    result = run("decode", str(path), "--kind", "assignment")

    assert 2 == result.exit_code
    assert f"{path}: expected a capture" in result.output
    assert 'or lines of {"kind": ..., "hex": ...}' in result.output


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="only Linux has a file that opens and cannot be read")
def test_a_file_that_cannot_be_read_is_named():
    result = run("decode", "/proc/self/mem")

    assert 1 == result.exit_code
    assert "Error: Could not open file '/proc/self/mem': Input/output error\n" == result.output


def test_a_line_that_is_nested_too_deeply_becomes_an_error_object(capsys):
    assert convert_lines(["[" * 100_000], json_object, jsonl=True, expected_errors=())
    message = f"expected a JSON object, got '{'[' * 40}'"
    assert {"error": "BadLine", "message": message} == json.loads(capsys.readouterr().out)


def test_a_missing_file_is_wrong_usage(tmp_path):
    assert 2 == run("decode", str(tmp_path / "nothing")).exit_code
    assert 2 == run("decode", str(tmp_path)).exit_code


@pytest.mark.parametrize("command", ["decode", "encode", "explain"])
def test_every_command_has_help_with_an_example(command):
    result = run(command, "--help")

    assert 0 == result.exit_code
    assert f"streams-assignor userdata {command}" in result.output


def test_a_pipe_without_a_writer_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = CliRunner().invoke(cli, ["userdata", "decode", str(tmp_path / "pipe")])

    assert result.exit_code == 2
    assert "expected a capture" in result.stderr


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_file_that_cannot_be_opened_is_named(tmp_path, name):
    result = CliRunner().invoke(cli, ["userdata", "decode", str(tmp_path / name)])

    assert result.exit_code == 2
    assert f"{str(tmp_path / name)!r}: " in result.stderr
