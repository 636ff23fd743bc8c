"""What is recorded of the mutants fits together, without running any."""

import pytest

from tests.lab.mutation.record import PACKAGES, REQUIRED, ROOT, SEED, counts, equivalents, read

RUNS = read()


def test_packages_are_recorded_with_the_seed():
    assert {*RUNS} <= {*PACKAGES}
    assert {SEED} == {run["seed"] for run in RUNS.values()}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_published_counts_are_those_of_the_list(run):
    assert counts(run["mutants"]) == run["counts"]
    assert len({each["mutant"] for each in run["mutants"]}) == len(run["mutants"]) <= run["of"]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_enough_mutants_are_killed(run):
    assert counts(run["mutants"])["share"] >= REQUIRED


def test_every_equivalent_mutant_of_the_list_is_reviewed():
    listed = {
        (each["mutant"], each["in"], each["change"])
        for run in RUNS.values()
        for each in run["mutants"]
        if each["outcome"] == "equivalent"
    }

    assert set() == listed - {(each["mutant"], each["in"], each["change"]) for each in equivalents()}


@pytest.mark.parametrize("review", equivalents(), ids=lambda review: review["mutant"])
def test_a_review_ends_when_the_code_changes(review):
    before = review["change"].removeprefix("- ").partition(" + ")[0]
    source = (ROOT / review["in"].split()[0]).read_text(encoding="utf-8")

    assert before in " ".join(source.split())
    assert len(review["reason"].split()) > 3


def test_a_survivor_lowers_the_share_and_an_equivalent_mutant_does_not():
    mutants = [{"outcome": outcome} for outcome in ("killed", "killed", "killed", "survived", "equivalent")]

    assert {"killed": 3, "equivalent": 1, "survived": 1, "share": 0.75} == counts(mutants)
