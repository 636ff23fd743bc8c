"""Lines of files, joined again to the same bytes."""

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams_assignor.spark_sim.sweep.spark.files import (
    SparkFile,
    SparkFilesError,
    files_of,
    path_of,
    settings_for,
    whole_files,
)

LINES = st.lists(st.sampled_from([b"", b"\n", b"\r", b"\xef\xbb\xbf", b"a\xff", b"\x00"]), max_size=6).map(b"".join)


def batches(contents, rows=3):
    """Lines of a task of Spark: a file that ends with a newline has no line behind it, and an empty one has none."""
    lines = []
    for path, content in contents.items():
        of_file = content.removesuffix(b"\n").split(b"\n") if content else []
        lines += [(f"hdfs://host:1{path}", line) for line in of_file]
    for begin in range(0, len(lines), rows):
        paths, values = zip(*lines[begin : begin + rows], strict=True)
        yield pa.RecordBatch.from_arrays([pa.array(paths), pa.array(values, pa.binary())], ["path", "line"])


def read(contents, sizes):
    return {path: content.read() for path, content in whole_files(batches(contents), sizes)}


@given(LINES, LINES)
@example(b"", b"\n")
@example(b"a\n", b"\n\n")
@example(b"a\r\n", b"\n" * 9)
def test_lines_are_joined_to_the_same_bytes(one, other):
    contents = {"/a/0.log": one, "/a/1.log": other}
    sizes = {path: len(content) for path, content in contents.items()}

    assert {path: content for path, content in contents.items() if content} == read(contents, sizes)


@pytest.mark.parametrize("size", [2, 5])
def test_a_file_that_has_another_size_is_an_error(size):
    ((path, error),) = whole_files(batches({"/a": b"b\nc"}), {"/a": size})

    assert "/a" == path
    assert isinstance(error, SparkFilesError)
    assert f"expected {size} bytes in /a, Spark read 3: was it changed?" == str(error)


def test_a_path_with_what_a_uri_escapes_is_found_again():
    line = pa.RecordBatch.from_arrays([pa.array(["s3a://b/a%20b%5B1%5D%2520"]), pa.array([b"x"])], ["path", "line"])
    read_again = {path: content.read() for path, content in whole_files(iter([line]), {"/a b[1]%20": 1})}

    assert {"/a b[1]%20": b"x"} == read_again


@pytest.mark.parametrize("uri", ["file:/a b", "file:///a b", "hdfs://host:1/a b", "s3a://bucket/a b"])
def test_the_path_of_a_uri_is_that_in_its_storage(uri):
    assert path_of(uri) == "/a b" == SparkFile(uri, 1).path


def test_a_task_reads_whole_files():
    large, small = SparkFile("hdfs://h/large", 1 << 30), SparkFile("hdfs://h/small", 1)

    assert settings_for([large, small])["spark.sql.files.maxPartitionBytes"] == str(1 << 30)
    assert int(settings_for([small])["spark.sql.files.maxPartitionBytes"]) > 1


def test_units_without_files_are_none_of_them():
    assert [] == files_of([object(), "unit"])
