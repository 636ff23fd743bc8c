"""Retired terms of docs/glossary.md stay out of identifiers (of tests too), messages, comments and pages."""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
PACKAGES = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "tests" / "README.md"] + [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if not {"_build", "changelog.d"} & set(path.parts) and path != GLOSSARY
]

# Names that several classes have, and why.
SHARED_CLASS_NAMES = {
    "Array": "the type of a list: of userdata in the layout, of Kafka's messages in the schema",
    "Field": "a field: of userdata in the layout, of Kafka's messages in the schema",
    "GroupLookup": "one interface, implemented with each client library",
    "StreamsPartitionAssignor": "one adapter, implemented with each client library; an application imports one of them",
}


def retired(column: str) -> frozenset[str]:
    """The terms of the table "Retired terms" whose last column names ``column``."""
    table = GLOSSARY.read_text().partition("## Retired terms")[2]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    return frozenset(term.strip() for terms, _, where in rows[2:] if column in where for term in terms.split(","))


@cache
def words_of(identifier: str) -> frozenset[str]:
    """The words of a snake-case or camel-case identifier, in lower case."""
    return frozenset(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier))


def identifiers(path: Path) -> set[tuple[int, str]]:
    """Every name that a file defines, with its line; the path of the file itself counts as line 0."""
    tree = ast.parse(path.read_text())
    found = {(0, part.removesuffix(".py")) for part in path.relative_to(ROOT).parts}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add((node.lineno, name))
            case (
                ast.alias(asname=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                found.add((node.lineno, name))
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add((node.lineno, name))
    return found


def texts(path: Path) -> list[tuple[int, str]]:
    """Comments, docstrings and messages of a source file, with their lines."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return [(token.start[0], token.string) for token in tokens if token.type in {tokenize.COMMENT, tokenize.STRING}]


def test_the_glossary_lists_retired_terms():
    assert {"crew", "lobby"} <= retired("identifiers")
    assert {"nobody", "whoever"} <= retired("text")


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_identifier_has_a_retired_term(path):
    terms = retired("identifiers")

    assert [] == sorted(each for each in identifiers(path) if words_of(each[1]) & terms)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_message_or_comment_has_a_retired_term(path):
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(retired('text'))))})\b", re.IGNORECASE)

    assert [] == [(line, text) for line, text in texts(path) if pattern.search(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_has_a_retired_term(page):
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(retired('text'))))})\b", re.IGNORECASE)
    lines = enumerate(page.read_text().splitlines(), 1)

    assert [] == [(number, line) for number, line in lines if pattern.search(line)]


def test_a_retired_term_is_found():
    assert words_of("_CrewOfNobody") == {"crew", "of", "nobody"}
    assert words_of("HTTPServer_crew2") == {"http", "server", "crew"}


def test_a_retired_identifier_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_vocabulary.ROOT", tmp_path)
    path = tmp_path / "crew.py"
    path.write_text(
        "import os as told\ndef f(said, *heard):\n    try:\n        dealt, x.blob = 1, 2\n    except E as ghost: pass\n"
    )

    names = sorted(name for _, name in identifiers(path) if words_of(name) & retired("identifiers"))
    assert ["blob", "crew", "dealt", "ghost", "heard", "said", "told"] == names


def public_classes(path: Path) -> list[str]:
    """The names of the public classes that a file defines at its top."""
    body = ast.parse(path.read_text()).body
    return [node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def test_no_two_public_classes_have_one_name():
    count = Counter(name for path in SOURCES for name in public_classes(path))

    assert [] == sorted(name for name, times in count.items() if times > 1 and name not in SHARED_CLASS_NAMES)
