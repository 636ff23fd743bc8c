"""Whose the files in a folder of results are, and what is left of them if a command fails or is killed at any step."""

import json
import os
import shutil
from contextlib import suppress
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_assignor.spark_sim.audit.job import RESULTS as AUDIT
from streams_assignor.spark_sim.sweep.folder import EXPORTS, is_page, open_folder
from streams_assignor.spark_sim.sweep.tables.formats import is_own_in_table
from streams_assignor.spark_sim.sweep.tables.parquet import write_parquet
from streams_assignor.spark_sim.sweep.tables.publishing import (
    ResultFolderError,
    Results,
    draft_mark,
    draft_name,
    open_results,
    write_page,
)
from streams_assignor.spark_sim.sweep.tables.schema import KINDS, RUNS, TABLES, UNITS

MATRIX = '[\n{"from": "1.1", "to": "2.0", "plan": "offline", "verdict": "safe"}\n]\n'
SUMMARY = json.dumps({"source": "x", "from_time": 1, "until_time": 2, "records": {}, "rows": {}}, indent=1)
NPM = json.dumps({"auditReportVersion": 2, "vulnerabilities": {}, "metadata": {}}, indent=2)
AUDIT_PAGE = "<title>Audit of consumer groups · streams-assignor</title>"


def put(path, content=b"x"):
    """Write a file, and the folders that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def put_table(path, table):
    write_parquet(path, table, [])


def content(folder):
    """Return the bytes of each file below a folder, and each folder."""
    return {
        str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None
        for each in folder.rglob("*")
        if not each.is_symlink()
    }


def audit_of(folder, text):
    """Write the results of an audit."""
    for name, table in AUDIT.tables.items():
        put_table(folder / name / "partition-0.parquet", table)
    put(folder / "report.html", AUDIT_PAGE + text)
    put(folder / "audit.json", SUMMARY + text)


# -- whose a file is -------------------------------------------------------------------------------------------------

TENSORBOARD = ("runs/events.out.tfevents", b"\x18\x00")


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("path", "given"),
    [
        TENSORBOARD,
        ("units/measures.csv", "a,b"),
        ("units/batch=1/part-0.parquet", "no parquet"),
        ("kinds/.git/config", "[core]"),
        ("deviations/part-0.parquet", "PAR1"),
        ("kinds/part-0.json", '{"name": "mine"}'),
        ("matrix.json", "[[1, 0], [0, 1]]"),
        ("guide.json", '[\n{"title": "mine"}\n]'),
        ("report.html", "<title>My report</title>"),
        (".report.html.unfinished", "<title>My report</title>"),
        ("history.json", "[]"),
        ("report.html/index.html", "mine"),
        ("upgrades", "a file in place of a table"),
        (".draft-mine/notes", "mine"),
        (f".draft-{32 * '1'}/notes", "mine"),
        (f".draft-{32 * '2'}/new/notes", "mine"),
    ],
)
def test_a_sweep_refuses_what_no_sweep_wrote_and_names_it(tmp_path, path, given, fresh):
    """Any folder named as a table was removed, with the files of TensorBoard in it."""
    put(tmp_path / path, given)
    put_table(tmp_path / "units" / "batch=2" / "part-0.parquet", UNITS)
    before = content(tmp_path)

    with pytest.raises(ResultFolderError, match=path.split("/")[0]), open_folder(tmp_path, fresh=fresh):
        pytest.fail("it was opened")
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("audit.json", NPM),
        ("audit.json", "{}"),
        ("tasks/todo.txt", "mine"),
        ("findings/part-0.parquet", "mine"),
        ("report.html", "<title>Upgrade sweep · streams-assignor</title>"),
        ("report.html/index.html", "mine"),
        ("notes.txt", "mine"),
    ],
)
def test_an_audit_refuses_what_no_audit_wrote_and_names_it(tmp_path, path, given):
    """A file named audit.json, such as npm writes, made a folder that of an audit."""
    audit_of(tmp_path, "old")
    if path.startswith("report.html/"):
        (tmp_path / "report.html").unlink()
    put(tmp_path / path, given)
    before = content(tmp_path)

    with pytest.raises(ResultFolderError, match=path.split("/")[0]), open_results(tmp_path, AUDIT):
        pytest.fail("it was opened")
    assert content(tmp_path) == before


def test_an_empty_folder_in_a_table_is_refused_unless_a_killed_writer_leaves_such(tmp_path):
    for name in ("batch=1", "batch=2/_temporary/0"):
        (tmp_path / "units" / name).mkdir(parents=True)
    with open_folder(tmp_path):
        pass
    (tmp_path / "units" / "mine").mkdir()

    with pytest.raises(ResultFolderError, match=r"\(units/mine/\)"), open_folder(tmp_path):
        pytest.fail("it was opened")


def test_a_file_of_another_table_is_refused(tmp_path):
    put_table(tmp_path / "kinds" / "part-0.parquet", RUNS)

    with pytest.raises(ResultFolderError, match=r"kinds/part-0\.parquet"), open_folder(tmp_path):
        pytest.fail("it was opened")


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
@pytest.mark.parametrize("name", ["tasks", "audit.json", "report.html"])
def test_a_link_in_place_of_a_result_is_refused(tmp_path, name, target):
    """The link was kept and the table of an earlier audit stayed behind it."""
    out = tmp_path / "out"
    audit_of(out, "old")
    put(tmp_path / "elsewhere" / "mine")
    (shutil.rmtree if (out / name).is_dir() else os.unlink)(out / name)
    (out / name).symlink_to(tmp_path / target)

    with pytest.raises(ResultFolderError, match=rf"{name} \(a link\)"), open_results(out, AUDIT):
        pytest.fail("it was opened")
    assert (out / name).is_symlink()


def test_a_table_without_the_mark_is_known_by_its_columns_and_one_with_it_may_lack_some():
    """Those that were written before there was a mark, and those of a later version."""
    old, marked = BytesIO(), BytesIO()
    pq.write_table(KINDS.arrow().empty_table(), old)
    metadata = {b"streams-assignor": b'{"table": "kinds", "version": 2}'}
    pq.write_table(pa.table({"other": [1]}).replace_schema_metadata(metadata), marked)

    assert is_own_in_table(KINDS, "part-0.parquet", old)
    assert is_own_in_table(KINDS, "part-0.parquet", marked)
    assert not is_own_in_table(RUNS, "part-0.parquet", old)
    assert not is_own_in_table(RUNS, "part-0.parquet", marked)


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("_SUCCESS", b""),
        ("._SUCCESS.crc", b"crc\x00\x00\x00\x02\x00"),
        (".part-00000.snappy.parquet.crc", b"crc\x00\x00"),
        ("batch=b1/_temporary/0/_temporary/attempt_1/part-00000.snappy.parquet", b"PAR1 unfinished"),
        ("batch=b1/_temporary/0/_temporary/attempt_1/.part-00000.snappy.parquet.crc", b""),
        ("batch=b1/_temporary/0/_temporary/attempt_1/.part-00000.snappy.parquet.crc", b"crc"),
        (f"batch=b1/.{'0' * 32}", b"PAR1 unfinished"),
        (f"batch=b1/.{'0' * 32}", b""),
        ("part-00000.json", b'{"unit_key":"x","sweep_id":"y"'),
        ("part-00000.avro", b"Obj\x01" + "".join(f'"name":"{each.name}"' for each in UNITS.columns).encode()),
    ],
)
def test_what_spark_leaves_in_the_folder_of_a_table_is_its_own(path, given):
    assert is_own_in_table(UNITS, path, BytesIO(given))


def test_fresh_removes_an_earlier_sweep_and_the_drafts_of_killed_ones(tmp_path):
    for table in (UNITS, *TABLES.values()):
        put_table(tmp_path / table.name / "part-0.parquet", table)
    put(tmp_path / "matrix.json", MATRIX)
    put(tmp_path / ".report.html.unfinished", "")
    with open_folder(tmp_path, fresh=True):
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays_and_one_that_was_created_for_nothing_goes(tmp_path):
    """The empty folder of a user was removed."""
    with open_results(tmp_path / "new" / "out", AUDIT), open_results(tmp_path, EXPORTS, has_others=True):
        pass

    assert list(tmp_path.iterdir()) == []


def test_the_top_of_a_volume_and_the_working_directory_can_be_the_folder(tmp_path, monkeypatch):
    (tmp_path / "lost+found").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_results(type(tmp_path)("."), AUDIT) as opened, opened.replace(AUDIT.names) as new:
        audit_of(new, "new")

    assert {each.name for each in tmp_path.iterdir()} == {*AUDIT.tables, "audit.json", "report.html", "lost+found"}


def test_a_link_can_be_the_folder_and_a_link_to_nothing_cannot(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    with open_results(tmp_path / "alias", AUDIT) as opened, opened.replace(AUDIT.names) as new:
        audit_of(new, "new")

    assert (tmp_path / "real" / "audit.json").exists()
    with pytest.raises(ResultFolderError, match="link to nothing"), open_results(tmp_path / "dangling", AUDIT):
        pytest.fail("it was opened")


def test_a_second_command_is_refused(tmp_path):
    with (
        open_results(tmp_path, AUDIT),
        pytest.raises(ResultFolderError, match="another audit is writing to"),
        open_results(tmp_path, AUDIT),
    ):
        pass


def test_what_comes_into_the_folder_meanwhile_is_not_removed(tmp_path):
    audit_of(tmp_path, "old")
    before = content(tmp_path)

    def audit():
        with open_results(tmp_path, AUDIT) as opened, opened.replace(AUDIT.names) as new:
            audit_of(new, "new")
            put(tmp_path / "tasks" / "mine")

    with pytest.raises(ResultFolderError, match="tasks/mine"):
        audit()
    assert content(tmp_path) == before | {"tasks/mine": b"x"}


# -- pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["a thesis", "<title>Audit of consumer groups · streams-assignor</title>"])
def test_a_page_replaces_no_other_file(tmp_path, given):
    (tmp_path / "page.html").write_text(given)
    (tmp_path / "folder").mkdir()

    for name in ("page.html", "folder"):
        with pytest.raises(ResultFolderError, match=name):
            write_page(tmp_path / name, "new", is_page)
    assert content(tmp_path) == {"page.html": given.encode(), "folder": None}


def test_a_page_replaces_an_empty_file_and_what_a_link_leads_to(tmp_path):
    (tmp_path / "page.html").touch()
    (tmp_path / "alias").symlink_to("page.html")
    write_page(tmp_path / "alias", "new", is_page)

    assert (tmp_path / "alias").is_symlink()
    assert content(tmp_path) == {"page.html": b"new"}


# -- failures and kills ----------------------------------------------------------------------------------------------

STEPS = ("rename", "replace", "mkdir", "unlink", "rmdir", "fsync")


def stop_at(patch, number, stop):
    """Call ``stop`` instead of the step with this number, counted over all kinds; return the steps so far."""
    steps = []

    def counted(name, real):
        def step(*arguments, **named):
            steps.append(name)
            if len(steps) == number:
                stop()
            return real(*arguments, **named)

        return step

    for name in STEPS:
        patch.setattr(os, name, counted(name, getattr(os, name)))
    return steps


LIGHT = Results("test", {"page": lambda _: True, "main": lambda _: True}, {"one": KINDS, "two": RUNS}, lambda *_: True)


def light(folder, text):
    """Write results that are made without Parquet; old ones have other files than new ones."""
    put(folder / "one" / text, text)
    put(folder / "main", text)
    put(folder / ("page" if text == "old" else "two/x"), text)


def publish(out):
    with open_results(out, LIGHT) as opened, opened.replace(LIGHT.names) as new:
        light(new, "new")


def state(out):
    """Return whether a reader that requires the main file sees ``old`` or ``new`` results as a whole, or none."""
    if not (out / "main").exists():
        return "none"
    shown = {name: text for name, text in content(out).items() if text and not name.startswith(".draft-")}
    return {
        ("main", "one/old", "page"): "old",
        ("main", "one/new", "two/x"): "new",
    }[tuple(sorted(shown))]


def no_space():
    raise OSError(28, "No space left on device")


def test_a_failure_at_any_step_leaves_the_earlier_results_as_they_were(tmp_path):
    """A failed rename left the tables of one audit and the summary of another."""
    number, seen = 0, set()
    while True:
        number += 1
        out = tmp_path / str(number)
        light(out, "old")
        with pytest.MonkeyPatch.context() as patch:
            steps = stop_at(patch, number, no_space)
            try:
                publish(out)
            except ResultFolderError:
                failed = steps[number - 1]
                assert state(out) == "old", (number, failed)
                seen.add(failed)
                continue
        assert state(out) == "new"
        if len(steps) < number:
            break
    assert seen >= {"rename", "mkdir", "fsync"}


@pytest.mark.parametrize(
    ("raised", "is_named"),
    [
        (OSError(28, "No space left on device"), True),
        (OSError(30, "Read-only file system", "{}/draft/main"), True),
        (OSError(30, "Read-only file system", "a/relative/source"), False),
        (FileNotFoundError(2, "No such file or directory", "/elsewhere/jvm"), False),
        (ConnectionRefusedError(111, "Connection refused"), False),
        (TimeoutError("timed out"), False),
    ],
)
def test_only_what_cannot_be_written_to_the_folder_is_named_so(tmp_path, raised, is_named):
    """A lost JVM read "cannot write to out: Connection refused"."""
    if raised.filename:
        raised.filename = raised.filename.format(tmp_path)

    with pytest.raises(ResultFolderError if is_named else type(raised)) as ended, open_results(tmp_path, LIGHT):
        raise raised
    assert is_named == (f"cannot write to {tmp_path}: " in str(ended.value))


@pytest.mark.parametrize("before", ["old", pytest.param("none", marks=pytest.mark.slow)])
def test_a_kill_at_any_step_leaves_the_old_the_new_or_no_results_and_the_same_command_goes_on(tmp_path, before):
    number, seen = 0, set()
    while True:
        number += 1
        out = tmp_path / str(number)
        if before == "old":
            light(out, "old")
        if not (child := os.fork()):
            with pytest.MonkeyPatch.context() as patch:
                stop_at(patch, number, lambda: os._exit(9))
                publish(out)
            os._exit(0)
        killed = os.waitpid(child, 0)[1]
        seen.add(found := state(out))
        assert found in {before, "new", "none"}
        with open_results(out, LIGHT):  # what was begun is completed or undone
            assert state(out) in {before, "new"}
            assert not [each for each in out.iterdir() if each.name.startswith(".")]
        publish(out)
        assert state(out) == "new"
        if not killed:
            break
    assert seen == {before, "new", "none"}


@pytest.mark.parametrize("names", ['["../mine"]', '[["mine"]]', "7", '"mine'])
def test_a_draft_names_nothing_outside_the_folder(tmp_path, names):
    """A copied folder may have any content."""
    put(tmp_path / "mine")
    draft = tmp_path / "out" / draft_name()
    put(draft / "draft.json", draft_mark(()).replace("[]", names))
    (draft / "old").mkdir()
    with suppress(ResultFolderError), open_results(tmp_path / "out", AUDIT):
        pass

    assert b"x" == (tmp_path / "mine").read_bytes()


def test_the_draft_of_a_killed_command_is_removed(tmp_path):
    for name in ("a", "b", "c"):
        put(tmp_path / (draft := draft_name()) / "draft.json", draft_mark(AUDIT.names)[: {"a": 0, "b": 9}.get(name)])
        put(tmp_path / draft / "new" / "tasks" / "unfinished.parquet", "PAR1")
    (tmp_path / draft_name()).mkdir()
    put_table(tmp_path / draft_name() / "new" / "tasks" / "of-a-late-worker.parquet", AUDIT.tables["tasks"])
    with open_results(tmp_path, AUDIT):
        assert list(tmp_path.iterdir()) == []
