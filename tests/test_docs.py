"""The pages show what the code does: their tables, their examples, the files they name."""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.groups.history._causes import CAUSES
from streams_assignor.groups.history._findings import LASTING_MS, OF_HISTORY
from streams_assignor.spark_sim.model import violations
from streams_assignor.spark_sim.model.scenario import VERBS
from streams_assignor.upgrade.releases import NEWEST
from streams_assignor.upgrade.upgrade_from import line_number
from tests.nightly import Part

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if not {"_build", "changelog.d"} & set(page.parts)),
]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())

# These run for long, need a broker, or need what one of the others leaves behind.
NOT_RUN = ("sweep", "report", "member", "bounce", "group", "roll", "web")
SLOW = re.compile(" audit |--tasks 48|--master processes")
NEEDS_A_CLUSTER = re.compile("--bootstrap|--records|s3:")  # or what a command that needs one leaves behind
EXAMPLE = re.compile(r"^```sh\n(.+?)\n```\n(?:\n?```text\n(.*?)\n```$)?", re.DOTALL | re.MULTILINE)


@pytest.fixture(name="tables")
def fixture_tables(monkeypatch):
    """The script that writes the tables; docs/ is not a package."""
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("tables")


@each_page
def test_tables_and_diagrams_are_those_of_the_code(page, tables):
    text = page.read_text()

    assert text == tables.fresh(text), "run: python docs/tables.py"


def test_every_table_of_the_code_stands_in_some_page(tables):
    shown = set().union(*(tables.names(page.read_text()) for page in PAGES))

    assert shown == set(tables.BLOCKS)


def test_the_site_has_a_table_in_the_place_of_the_line_that_names_it(tables):
    page = 'Before.\n\nPrinted by `python docs/tables.py "severities"`.\n\nAfter.\n'

    assert f"Before.\n\n{tables.BLOCKS['severities']()}\n\nAfter.\n" == tables.for_the_site(page)


LEDGER = {"peers:tests": 201, "chance:tests": 200, "by hand:tests/lab/bench/bench_codec.py": 201}
RUN = "2026-11-30, c0ffee"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("`tests/test_docs.py`", f"{RUN}, **old**, **a test failed**"),
        ("`test_nightly.py`", RUN),
        ("`pytest tests/test_nightly.py -s`", RUN),
        ("`pytest -m exhaustive tests/test_nightly.py`", "**no run is recorded**"),
        ("`python -m tests.lab.bench.bench_codec --all`", f"{RUN}, **old**"),
        ("`tests/swallowed_errors.toml`", None),
    ],
)
def test_the_site_says_when_a_test_or_a_bench_ran_and_whether_that_is_old(monkeypatch, tables, named, expected):
    block = tables.nightly
    rows = [
        {
            "part": name,
            "age": age,
            "date": "2026-11-30",
            "commit": "c0ffee",
            "passed": 1,
            "failures": ["tests.test_docs::x"],
        }
        for name, age in LEDGER.items()
    ]
    units = {"peers:tests": [("pytest", "tests/test_docs.py")], "chance:tests": [("tests/test_nightly.py",)]}
    monkeypatch.setattr(block, "ledger", lambda: rows)
    monkeypatch.setattr(block, "age", lambda row: row["age"])
    monkeypatch.setattr(block, "units", lambda: {name: Part("", commands) for name, commands in units.items()})
    block.runs.cache_clear()
    shown = tables.for_the_site(named, "reference/verification")
    block.runs.cache_clear()

    assert shown == (f"{named} ({expected})" if expected else named)
    assert named == tables.for_the_site(named, "reference/java")


def test_each_test_and_bench_that_a_page_about_evidence_names_has_a_run(tables):
    pages = {name: tables.for_the_site((DOCS / f"{name}.md").read_text(), name) for name in tables.DATED}

    assert {} == {name: found for name, page in pages.items() if (found := re.findall(r".*no run is recorded.*", page))}


README_RELIES_ON = {
    "docs/reference/kafka-unit-tests.md": "tests/lab/kafka_unit_tests",
    "docs/reference/java-peers.md": "tests/lab/integration/test_every_release.py",
    "docs/explanation/chaos.md": "tests.lab.chaos",
}
"""Pages of results that it links, and the tests or the command that made them."""


@pytest.mark.clock(reason="a run becomes old by the commits of others")
@pytest.mark.parametrize(("page", "named"), README_RELIES_ON.items())
def test_the_readme_relies_on_no_old_run(tables, page, named):
    """Run the tests (`tox -e nightly -- PART --out tests/nightly.json`), or the README does not say it any more."""
    assert f"({page})" in PAGES[0].read_text()
    assert re.fullmatch(r"[\d-]+, \w+", tables.nightly.last_run(named))


def examples():
    """Each command line of the pages with the exit status and the output (or None) that stand beside it."""
    for page in PAGES:
        for shell, output in EXAMPLE.findall(page.read_text()):
            lines = [line for line in shell.splitlines() if re.search(r"(^|\| )streams-assignor ", line)]
            for line in lines:
                status = re.search(r"# exit status (\d+)", line)
                if re.search(r"streams-assignor (\w+)", line)[1] not in NOT_RUN and not NEEDS_A_CLUSTER.search(line):
                    expected = int(status[1]) if status else 0, output if lines == [line] else None
                    yield pytest.param(page.stem, line, *expected, marks=[pytest.mark.slow] * bool(SLOW.search(line)))


PROGRESS = re.compile(r"^(?:.+ \(\d+ s\)|[\d,]+ of [\d,]+ units.*)\n", re.MULTILINE)


@pytest.mark.parametrize(("_page", "line", "status", "output"), list(examples()))
def test_an_example_does_what_the_page_says(_page, line, status, output, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")  # room for long lines
    ended, printed, errors = (by_bash if needs_a_shell(line) else by_call)(line)

    assert status == ended, errors
    found = printed + PROGRESS.sub("", errors)  # a slow machine takes long enough for it
    assert not output or reported(output).fullmatch(found), found


def needs_a_shell(line):
    """Whether a line has a pipe or a pattern; others are calls in this process, which start no interpreter."""
    return not line.startswith("streams-assignor ") or bool(re.search("[|<>;&$`*]", re.sub('"[^"$`]*"', "", line)))


def by_bash(line):
    # The script of the environment that runs the tests; coverage counts other tests.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def by_call(line):
    done = CliRunner().invoke(cli, shlex.split(line, comments=True)[1:])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def reported(output):
    """The output as a pattern; a line of three dots stands for any lines, and three dots at an end for any rest."""
    return re.compile("".join(map(_line_pattern, output.splitlines())) + r"\n*")


def _line_pattern(line):
    if line == "...":
        return r"(?:.*\n)*?"
    beginning = line.removesuffix(" ...")
    return re.escape(line.rstrip()) + r" *\n" if beginning == line else re.escape(beginning) + r".*\n"


@each_page
def test_python_examples_give_what_they_show(page):
    assert 0 == doctest.testfile(str(page), module_relative=False).failed


GENERATED = re.compile(r"<!-- from the code: .+? -->.*?<!-- end -->", re.DOTALL)
BOX = re.compile(r"^[> ]*```.*?^[> ]*```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)|^\[[^\]\n]+\]: (?!https?:)(\S+)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
NOT_ON_THE_SITE = {"_build", "changelog.d", "upstream"}  # as in conf.py


def is_on_the_site(path):
    """Whether a page is one of the site, which ``-W`` builds."""
    return path.suffix == ".md" and path.is_relative_to(DOCS) and not NOT_ON_THE_SITE & {*path.parts}


def anchors(page):
    """The names of the headings to which the site links."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in HEADING.findall(BOX.sub("", page.read_text()))
    }


def is_refused(link, page):
    """Whether a link leads nowhere; a page of the site links to files, and to headings of other pages of the site."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not is_on_the_site(page):
        return not target.exists()
    if target.suffix != ".md":
        return not target.is_file() or bool(anchor)
    return not (target.is_file() and is_on_the_site(target)) or bool(anchor and anchor not in anchors(target))


@each_page
def test_linked_files_exist(page):
    text = BOX.sub("", page.read_text())

    assert [] == [link for found in LINK.finditer(text) if is_refused(link := found[1] or found[2], page)]


def test_the_site_refuses_a_link_to_a_folder_a_page_beside_it_and_no_heading():
    page = DOCS / "how-to/kubernetes.md"
    taken = "kubernetes/pods.txt rolling.md rolling.md#your-commands #which-one ../../tests/nightly.json"
    refused = "kubernetes kubernetes/ kubernetes/#pods ../../README.md ../upstream/spark.md ../changelog.d/README.md"

    assert [] == [link for link in taken.split() if is_refused(link, page)]
    assert [] == [
        link for link in (*refused.split(), "none.md", "rolling.md#none", "#none") if not is_refused(link, page)
    ]


def prose(page):
    """A page without what is printed from the code, and without boxes."""
    return BOX.sub("", GENERATED.sub("", page.read_text()))


@each_page
def test_a_line_of_prose_has_at_most_120_characters(page):
    """A table's row is one line; an image and a command that is longer than a line cannot be wrapped."""
    lines = [line for line in prose(page).splitlines() if not line.startswith(("|", "![", "    "))]
    wrapped = [re.sub(r"`[^`]+`", lambda command: command[0].replace(" ", "_"), line) for line in lines]

    assert [] == [line for line in wrapped if len(line) > 120 and " " in line.strip()]


@each_page
def test_no_sentence_of_a_page_begins_with_what_or_that(page):
    """As in docstrings (`test_vocabulary.py`); a heading and a question may."""
    sentence = re.compile(r"(?:[.:!]\s+|\n\s*\n|\n[-*] |\*\*|\| )((?:What|That)\b[^.?|\n]*)(?!\?)[.|\n]")

    assert [] == sentence.findall(prose(page))


@each_page
def test_the_lines_that_a_page_assumes_are_newer_than_the_table(page):
    """4.4 was refused without --assume on one page, and in the table on another."""
    assumed = re.findall(r"(\d+\.\d+)~\d|(\d+\.\d+) --assume|`(\d+\.\d+)`, a line that is newer", page.read_text())

    assert all(line_number("".join(line)) > line_number(NEWEST.line) for line in assumed)


def test_the_page_about_scenarios_has_every_step_and_every_property():
    page = (DOCS / "reference/scenarios.md").read_text()
    steps = [f"`{verb} {mode}".rstrip() for verb, each in VERBS.items() for mode in each.descriptions]
    promises = [value for name, value in vars(violations).items() if name.isupper() and isinstance(value, str)]

    assert promises
    assert [] == [words for words in (*steps, *promises) if words not in page]


def test_the_page_about_audits_has_every_cause_and_every_finding(tables):
    page = tables.for_the_site((DOCS / "reference" / "audit.md").read_text())

    assert [] == [code for code in (*CAUSES, *LASTING_MS, *OF_HISTORY) if f"`{code}`" not in page]
