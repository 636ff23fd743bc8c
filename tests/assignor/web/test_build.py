"""The files of the page: from the tree, its dependencies and the pinned package of npm."""

import json
import re
import stat
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

from streams_assignor.cli import in_browser
from streams_assignor.web import build
from streams_assignor.web.build import (
    CONTENT_SECURITY_POLICY,
    BuildError,
    code_files,
    compile_loaded,
    fetch_pyodide,
    page_sources,
    read_site,
    write_site,
)
from tests.assignor.web.packages import LOCK, code_of, made_up, made_up_compiler, stdlib_of

ROOT = Path(__file__).parents[3]
SVG = "http://www.w3.org/2000/svg"
"""The name of a vocabulary, which is not asked for."""


@pytest.fixture(autouse=True, scope="module")
def fixture_fast_compression():
    """Most of the seconds of a site are its compression."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "COMPRESSION", 0)
        yield


def site(package, lock):
    return build.site(package, lock, made_up_compiler)


@pytest.fixture(scope="module")
def files():
    return site(*made_up())


def test_it_has_the_sources_of_the_page_the_code_and_pyodide(files):
    sources = {path.name for path in page_sources()}

    assert {"app.mjs", "trace.mjs", "trace.css", "base.css"} < sources
    pyodide = {f"pyodide/{name}" for name in (*LOCK.files, LOCK.lock)}
    samples = {name for name in files if name.startswith("samples/")}
    assert sources | {"python.tar.xz", "site.json"} | pyodide | samples == set(files)


def test_its_samples_are_the_application_of_the_tutorial_and_a_real_segment(files):
    segments = ROOT / "tests/spark_sim/audit/segments"
    real = {f"samples/{path.relative_to(segments)}": path for path in segments.glob("__consumer_offsets-0/*.log")}
    real |= {
        f"samples/{path.name}": path for path in (ROOT / "docs/tutorials/orders").iterdir() if path.suffix != ".java"
    }

    assert {name: path.read_bytes() for name, path in real.items()} == {
        name: content for name, content in files.items() if name.startswith("samples/")
    }


def test_other_bytes_than_the_pinned_ones_are_refused():
    package, lock = made_up()

    with pytest.raises(BuildError, match=rf"^expected pyodide@{LOCK.version} with integrity sha512-.*, got sha512-"):
        site(package + b"\0", lock)


def test_a_package_without_a_file_is_refused():
    package, lock = made_up(**{"pyodide.mjs": None})

    with pytest.raises(BuildError, match=r"^expected pyodide.mjs in pyodide@"):
        site(package, lock)


def test_pyodide_knows_no_package_that_it_could_ask_another_server_for(files):
    assert {"info": {"python": "3.14.2"}, "packages": {}} == json.loads(files["pyodide/pyodide-lock.json"])


def test_no_source_names_another_server(files):
    texts = {
        name: content.decode() for name, content in files.items() if name.endswith((".html", ".mjs", ".css", ".js"))
    }
    addresses = {
        name: re.findall(r"(?:https?:)?//(?!$)[\w.-]+\.\w+", text.replace(SVG, "")) for name, text in texts.items()
    }

    assert {} == {name: found for name, found in addresses.items() if found}


def test_the_page_has_the_policy_and_no_script_or_style_within_itself(files):
    page = files["index.html"].decode()

    assert f'content="{CONTENT_SECURITY_POLICY}"' in page
    assert ['<script type="module" src="app.mjs"></script>'] == re.findall(r"<script.*?</script>", page)
    assert "{{" not in page
    assert not re.search(r"<style|\son\w+=|\sstyle=", page)


def test_no_source_makes_markup_of_text(files):
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"on"

    assert [] == [
        name
        for name in files
        if name.endswith("js") and "pyodide" not in name and re.search(sinks, files[name].decode())
    ]


def test_no_source_keeps_anything_but_the_files_of_the_site(files):
    stores = r"localStorage|sessionStorage|indexedDB|document\.cookie|cache\.put|sendBeacon|XMLHttpRequest|WebSocket"

    assert [] == [
        name
        for name in files
        if name.endswith("js") and "pyodide" not in name and re.search(stores, files[name].decode())
    ]


def test_the_archive_has_what_the_commands_of_the_page_import_and_no_client():
    names = list(code_files())

    assert {"attr/__init__.py", "attrs/__init__.py", "click/core.py", "streams_assignor/cli/in_browser.py"} <= set(
        names
    )
    assert "streams_assignor/upgrade/application/tables/code.txt.gz" in names
    assert [] == [
        name for name in names if name.startswith(("streams_assignor/clients", "rich", "tests")) or ".." in name
    ]


def test_what_a_first_plan_loads_is_compiled_and_the_rest_are_sources(files):
    code = code_of(files)

    assert {"abc.pyc": b"compiled abc", "json/__init__.py": b"json"} == stdlib_of(files)
    assert b"compiled core" == code["click/core.pyc"]
    assert code_files().keys() - code.keys() == {"click/core.py"}
    assert code["streams_assignor/cli/in_browser.py"] == Path(in_browser.__file__).read_bytes()


def test_the_same_tree_is_the_same_bytes(files):
    assert files == site(*made_up())


def test_another_file_is_another_cache(files):
    package, lock = made_up(**{"pyodide.mjs": b"other"})
    other = site(package, lock)
    caches = [re.search(rb"streams-assignor-\w{16}", each["sw.js"])[0] for each in (files, other)]

    assert caches[0] != caches[1]
    kept = json.loads(re.search(rb"const SITE = (.*);", other["sw.js"])[1])["files"]
    assert {"./", *other} - {"sw.js", "site.json"} == set(kept)


def test_a_folder_is_written_read_and_replaced(files, tmp_path):
    out = tmp_path / "new" / "site"
    write_site(files, out)
    (out / "app.mjs").write_text("old")
    write_site(files, out)

    assert files == read_site(out)
    assert [out] == list(out.parent.iterdir())


def test_an_archive_has_the_same_files(files, tmp_path):
    for _ in range(2):
        write_site(files, tmp_path / "site.zip")

    with zipfile.ZipFile(tmp_path / "site.zip") as archive:
        assert files == {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("is_site", [False, True])
def test_a_folder_with_something_else_is_left_alone(files, tmp_path, is_site):
    if is_site:
        write_site(files, tmp_path / "site")
    thesis = tmp_path / "site" / "thesis.txt"
    thesis.parent.mkdir(exist_ok=True)
    thesis.touch()

    with pytest.raises(BuildError, match=r"^expected a new or empty folder, or a site to replace"):
        write_site(files, tmp_path / "site")
    assert thesis.exists()


@pytest.mark.parametrize("there", ["text", "folder", "other archive", "archive with more"])
def test_an_archive_of_something_else_is_left_alone(files, tmp_path, there):
    out = tmp_path / "my.zip"
    if there == "text":
        out.write_text("only copy")
    elif there == "folder":
        out.mkdir()
    else:
        with zipfile.ZipFile(out, "w") as archive:
            for name in ["thesis.txt", *(files if "more" in there else ())]:
                archive.writestr(name, files.get(name, b""))
    before = [(path, path.is_dir() or path.read_bytes()) for path in sorted(tmp_path.rglob("*"))]

    with pytest.raises(BuildError, match=r"^expected a new file, or a site to replace, got .*my\.zip with"):
        write_site(files, tmp_path / "my.zip")
    assert before == [(path, path.is_dir() or path.read_bytes()) for path in sorted(tmp_path.rglob("*"))]


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("app.mjs", b"changed", "expected the files that .* names, but app.mjs is another one"),
        ("site.json", b"[]", "expected a folder of streams-assignor web --out, got "),
        ("site.json", b'{"files": {"lost": "0"}}', "expected a folder of streams-assignor web --out, got .*lost"),
    ],
)
def test_a_damaged_site_is_refused(files, tmp_path, name, content, error):
    write_site(files, tmp_path / "site")
    (tmp_path / "site" / name).write_bytes(content)

    with pytest.raises(BuildError, match=error):
        read_site(tmp_path / "site")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program that does what a shell script says."""

    def does(name, script):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return does


@pytest.fixture
def npm(program):
    return partial(program, "npm")


def test_npm_packs_the_pinned_version_into_a_folder(npm):
    npm('test "$2" = pyodide@' + LOCK.version + ' && printf bytes > "$5/a.tgz"')

    assert b"bytes" == fetch_pyodide(LOCK)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (
            "echo npm error code ENOTFOUND >&2; exit 1",
            "npm cannot fetch pyodide@.*: npm error code ENOTFOUND; is the net",
        ),
        ("exit 7", "npm cannot fetch pyodide@.*: status 7; "),
        ("exit 0", "npm cannot fetch pyodide@.*: status 0; "),
    ],
)
def test_what_npm_says_is_one_line_with_a_way_out(npm, script, error):
    npm(script)

    with pytest.raises(BuildError, match=rf"^{error}.*or give the package as a file: --pyodide pyodide-.*tgz$"):
        fetch_pyodide(LOCK)


def test_an_npm_that_hangs_is_ended(npm, monkeypatch):
    npm("exec sleep 600")
    monkeypatch.setattr(build, "_NPM_SECONDS", 0.01)

    with pytest.raises(BuildError, match=r"^npm has not fetched pyodide@"):
        fetch_pyodide(LOCK)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo 'a stack' >&2; echo 'Error: too old' >&2; exit 1", "Error: too old; Pyodide needs Node.js 20 or newer"),
        ("exit 7", "status 7; Pyodide needs Node.js 20 or newer"),
    ],
)
def test_code_that_node_cannot_compile_is_one_line(program, script, error):
    program("node", script)

    with pytest.raises(BuildError, match=f"^node cannot compile the code of the page: {error}$"):
        compile_loaded({}, {})


def test_what_node_compiles_is_read(program):
    program("node", 'test -f "$2/a.mjs" && test -f "$3/b.py" && mkdir "$4/code" && printf bytes > "$4/code/b.pyc"')

    assert {"code/b.pyc": b"bytes"} == compile_loaded({"pyodide/a.mjs": b""}, {"b.py": b""})


def test_a_node_that_hangs_is_ended(program, monkeypatch):
    program("node", "exec sleep 600")
    monkeypatch.setattr(build, "_NODE_SECONDS", 0.01)

    with pytest.raises(BuildError, match=r"^node has not compiled the code of the page within 0.01 seconds$"):
        compile_loaded({}, {})


def test_without_node_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BuildError, match=r"^expected node, which compiles the code of the page, found none in PATH"):
        compile_loaded({}, {})


def test_without_npm_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        BuildError, match=r"^expected npm, which fetches pyodide@.*, found none in PATH; install Node.js"
    ):
        fetch_pyodide(LOCK)


CALLS = """
import sys
sys.path.insert(0, sys.argv[1])
from streams_assignor.cli.in_browser import matrix_row, plan, replay, run

print(plan(["2.8", "4.3", "--config", sys.argv[2]])["status"])
print(replay("A@2.0 B@2.0 | bounce A>2.3")["status"])
print(run(["userdata", "explain", "000000010000000000000000"])["status"], run(["release", "2.8"])["status"])
print(matrix_row("2.8.2", ["4.3.1"])[0]["verdict"])
from streams_assignor.spark_sim.audit.in_memory import audit_in_memory
"""


def test_the_archive_alone_is_enough_for_the_calls_of_the_page(tmp_path):
    build._write(code_files(), tmp_path / "code")
    (tmp_path / "a.yaml").write_text("processing.guarantee: exactly_once_v2\n")
    command = [sys.executable, "-S", "-c", CALLS, str(tmp_path / "code"), str(tmp_path / "a.yaml")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert (["3", "0", "0 0", "safe-if"], "") == (done.stdout.splitlines(), done.stderr)
