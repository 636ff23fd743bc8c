"""Every row of the requirements that concerns the model has a test named by it."""

import re
from pathlib import Path

import pytest

ROWS = {"f": 13, "u": 18, "d": 4, "a": 4, "b": 4, "r": 3, "m": 7, "i": 3, "q": 5, "v": 3, "w": 7}
NAMES = [
    name
    for path in sorted(Path(__file__).parent.rglob("test_*.py"))
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("row", [f"{letter}{number + 1}" for letter, last in ROWS.items() for number in range(last)])
def test_a_test_is_named_by_the_row(row):
    assert [name for name in NAMES if name.startswith(f"test_{row}_")]


def test_no_two_tests_have_the_same_name():
    assert len(set(NAMES)) == len(NAMES)
