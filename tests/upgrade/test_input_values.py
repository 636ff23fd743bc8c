"""Any number, JSON document, line or file from outside becomes a value or an ``InvalidInput``, and nothing else."""

import io
import json
import math
import os
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams_assignor.upgrade.input_values import (
    InvalidInput,
    parse_json,
    parse_number,
    read_all,
    read_input,
    read_lines,
    read_text,
)

DEEP = "[" * 100_000
LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "bounds", "number"),
    [("0", (), 0), ("007", (), 7), ("2147483647", (), 2**31 - 1), ("-5", (-5, 5), -5), ("5", (-10, 5), 5)],
)
def test_a_number_within_its_bounds_is_read(text, bounds, number):
    assert number == parse_number(text, *bounds)


@pytest.mark.parametrize(
    "text",
    ["", "-", "-1", "+1", " 1", "1 ", "1_0", "1.0", "1e3", "²", "٣", "2147483648", LONG, "\0", "0x1", "\ud800"],
)
def test_any_other_text_is_no_number(text):
    with pytest.raises(InvalidInput, match="expected a number from 0 to 2147483647, got ") as refused:
        parse_number(text)
    assert len(str(refused.value)) < 200


@given(st.text(), st.integers(-100, 100), st.integers(-100, 100))
def test_a_number_is_in_its_bounds_or_refused(text, least, most):
    with suppress(InvalidInput):
        assert least <= parse_number(text, least, most) <= most


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ("{", "line 1 column 2, got the end"),
        ('{"a": x', "at line 1 column 7, got 'x'"),
        ("Infinity", "Infinity, which is no number"),
        ("-Infinity", "-Infinity"),
        ("NaN", "NaN"),
        ("1e400", "'1e400', which is too large"),
        ("-1e400", "too large"),
        (LONG, "expected JSON"),
        (DEEP, "nested too deeply"),
        ('{"a":' * 50_000, "nested too deeply"),
        (b"[" * 201 + b"]" * 201, "nested too deeply: more than 200 levels"),
        ('["[" ,' * 201, "nested too deeply"),
        (b"\xff\xfe{", "expected JSON"),
    ],
)
def test_what_is_no_json_is_refused(text, why):
    with pytest.raises(InvalidInput, match="expected JSON") as refused:
        parse_json(text)
    assert why in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200 + "]" * 200,
        json.dumps(["[" * 300, '"' + "{" * 300, '\\"' + "[" * 300]),
        json.dumps([[], {}, [{}]] * 1000),
        json.dumps(["["] * 300).encode("utf-16"),
    ],
)
def test_many_brackets_that_are_not_nested_are_read(text):
    assert json.loads(text) == parse_json(text)


@given(st.text() | st.binary())
@example('{"a": 1e999}')
@example(b"\xef\xbb\xbf{}")
def test_a_document_is_read_or_refused(text):
    try:
        value = parse_json(text)
    except InvalidInput:
        return
    assert not isinstance(value, float) or math.isfinite(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=9))
def test_json_is_read_as_it_was_written(value):
    assert value == parse_json(json.dumps(value))


def test_lines_are_read_up_to_their_longest_length():
    assert ["abc\n", "de"] == list(read_lines(io.StringIO("abc\nde"), 4))
    with pytest.raises(InvalidInput, match="at most 4 characters, got a longer line 2"):
        list(read_lines(io.StringIO("abc\nabcde"), 4))


def test_a_stream_is_read_up_to_its_limit():
    assert b"abcd" == read_all(io.BytesIO(b"abcd"), "stdin", 4)
    with pytest.raises(InvalidInput, match="at most 4 bytes, got stdin with more"):
        read_all(io.BytesIO(b"abcde"), "stdin", 4)


def test_an_endless_file_is_refused():
    with pytest.raises(InvalidInput, match="at most 16,777,216 bytes, got /dev/zero with more"):
        read_input("/dev/zero")


def test_a_pipe_without_a_writer_is_refused_at_once(tmp_path):
    """To open it waited for ever."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(InvalidInput, match="a pipe without a writer"):
        read_input(tmp_path / "pipe")


def test_a_pipe_is_read():
    """As of ``--command-config <(...)``, a pipe by the name of a descriptor."""
    reading, writing = os.pipe()
    try:
        os.write(writing, b"a=1")
        os.close(writing)
        assert b"a=1" == read_input(f"/dev/fd/{reading}")
    finally:
        os.close(reading)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError):
        read_input(tmp_path)


def test_text_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "text").write_bytes(b"ab\xff")

    assert "abÿ" == read_text(tmp_path / "text", "latin-1")
    assert "ab�" == read_text(tmp_path / "text", errors="replace")
    with pytest.raises(InvalidInput, match=r"expected text in utf-8, got .*text with other bytes at 2"):
        read_text(tmp_path / "text")


@pytest.mark.parametrize("text", ["Infinity", "[NaN]", "1e999"])
def test_a_number_that_json_lacks_is_named_once(text):
    with pytest.raises(InvalidInput, match=r"^expected JSON, got "):
        parse_json(text)
