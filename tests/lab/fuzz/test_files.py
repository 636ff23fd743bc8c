"""Some mutants of each kind of file, always the same; the loop notices a reader that fails or works too much."""

import pytest

from tests.lab.fuzz.files import READERS, Reader, problem, run


@pytest.mark.parametrize("name", READERS)
def test_mutants_are_read_or_refused(name):
    assert [] == [text for _, text in (run(name, 1, number) for number in range(60)) if text]


@pytest.mark.parametrize("name", READERS)
def test_the_files_that_are_mutated_are_read(name):
    for seed in READERS[name].seeds:
        assert READERS[name].read(seed) is not None or name == "archive"


def test_a_reader_that_fails_or_works_too_much_is_noticed():
    assert "KeyError" in problem(Reader(lambda _: {}["x"], ()), b"")
    assert "calls for 0 bytes" in problem(Reader(lambda _: [len("") for _ in range(70_000)], ()), b"")
