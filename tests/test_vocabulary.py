"""Words have one spelling, as in Kafka's source, and a public class has a name that no other one has."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.sources import ROOT, SOURCES, nodes, tree

TEXTS = [
    *SOURCES,
    *sorted((ROOT / "tests").rglob("*.py")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "changelog.d"} & set(path.parts)),
    *sorted(ROOT.glob("*.md")),
]

STEMS = "author categor character emphas final general initial maxim minim normal optim organ prior recogn serial"
OTHER_SPELLING = re.compile(rf"({'|'.join([*STEMS.split(), 'special', 'summar', 'synchron'])})is(e|ing|ation)", re.I)

# Names that several classes have, and why.
SHARED_CLASS_NAMES = {
    "StreamsPartitionAssignor": "one adapter, implemented with each client library; an application imports one of them",
}


def test_words_are_spelled_as_in_kafka_finalized_and_not_with_an_s():
    assert OTHER_SPELLING.search("_FINAL" + "ISED")
    assert [] == [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path in TEXTS
        for text in [path.read_text()]
        for match in OTHER_SPELLING.finditer(text)
    ]


# A sentence begins with its subject: neither "What is left is dropped" nor "That it is there is a fact".
INVERTED = re.compile(r"(?:^|[.:?!]\s|\n\s*\n)\s*(?:What|That)\b")
COMMENT = re.compile(r"(?:^ *|  )# (.+)")


def prose(path: Path) -> list[tuple[int, str]]:
    """Lines and texts of the comments of a file, and of what stands alone in it, also below constants and fields."""
    source = path.read_text()
    alone = [node.value for node in nodes(path) if isinstance(node, ast.Expr)]
    texts = [(node.lineno, node.value) for node in alone if isinstance(node, ast.Constant)]
    lines = enumerate(source.splitlines(), 1)
    comments = [(number, match[1]) for number, line in lines if (match := COMMENT.search(line))]
    return [*((line, text) for line, text in texts if isinstance(text, str)), *comments]


def test_no_sentence_of_a_docstring_or_a_comment_begins_with_what_or_that():
    assert INVERTED.search("It ends. What is left is dropped.")
    assert [] == [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in SOURCES
        for line, text in prose(path)
        if INVERTED.search(text)
    ]


def public_classes(path: Path) -> list[str]:
    """The names of the public classes that a file defines at its top."""
    return [node.name for node in tree(path).body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def test_no_two_public_classes_have_one_name():
    count = Counter(name for path in SOURCES for name in public_classes(path))

    assert [] == sorted(name for name, times in count.items() if times > 1 and name not in SHARED_CLASS_NAMES)
