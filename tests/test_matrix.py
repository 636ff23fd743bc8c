"""What runs only with ``-m matrix`` says why, and README's command and `.ci/run` leave nothing out between them."""

from configparser import ConfigParser
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.chosen_files import require_names
from tests.matrix import with_matrix
from tests.test_peers_required import ROOT, ran


def test_what_is_not_usual_has_the_marker_and_its_reason():
    usual, pair, name = with_matrix([1, ("a", "b"), "c"], [1], "another one")

    assert 1 == usual
    assert [("a", "b"), ("c",)] == [pair.values, name.values]
    assert {"another one"} == {mark.kwargs["reason"] for each in (pair, name) for mark in each.marks}


@pytest.mark.parametrize(("marker", "status"), [("matrix(reason='slow')", 0), ("matrix", 4), ("matrix(reason='')", 4)])
def test_a_matrix_marker_without_a_reason_is_refused(tmp_path, marker, status):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    matrix(reason)\n    chance\n    slow\n")
    (tmp_path / "test_one.py").write_text(f"import pytest\n\n@pytest.mark.{marker}\ndef test_one(): ...\n")

    done = ran(["-p", "tests.conftest"], tmp_path)

    assert status == done.returncode, done.stdout + done.stderr
    assert bool(status) == ("expected matrix(reason=...)" in done.stdout + done.stderr)


def test_a_test_of_a_peer_whose_file_does_not_name_the_marker_is_refused(tmp_path):
    """Beside real peers its file would not be imported."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    java\n    chance\n    slow\n")
    (tmp_path / "test_one.py").write_text("import pytest\n\n@getattr(pytest.mark, 'java')\ndef test_one(): ...\n")
    named = tmp_path / "test_two.py"
    named.write_text("import pytest\n\n@pytest.mark.java\ndef test_two(): ...\n")

    refused, found = (ran(["-p", "tests.conftest", *more], tmp_path) for more in ([], ["-m", "(java or broker)"]))

    assert (4, 0) == (refused.returncode, found.returncode), found.stdout
    assert "test_one.py::test_one: expected mark.java or mark.broker in its file" in refused.stdout + refused.stderr
    assert "1 passed" in found.stdout


@pytest.mark.parametrize(
    ("marker", "content", "expected"),
    [
        ("chance", "from hypothesis import given", ""),
        ("chance", "@pytest.mark.chance", ""),
        ("chance", "", "expected hypothesis or mark.chance in its file, found none"),
        ("matrix", "with_matrix([1, 2], [1], 'reason')", ""),
        ("matrix", "", "expected mark.matrix or with_matrix in its file, found none"),
        ("slow", "", ""),
    ],
)
def test_a_test_that_the_run_of_its_marker_would_not_find_is_refused(tmp_path, marker, content, expected):
    item = SimpleNamespace(
        path=tmp_path / "test_one.py", nodeid="test_one.py::test_one", get_closest_marker=[marker].__contains__
    )
    item.path.write_text(content)

    with pytest.raises(pytest.UsageError, match=expected) if expected else nullcontext():
        require_names([item])


def test_the_environments_of_ci_run_every_test_of_peers_and_of_chance():
    """The expressions of `peers` and `matrix`, and of `tests`, `chance` and `matrix`, cover all; so does `whole`."""
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")
    both = configuration["testenv"]["beside_peers"], configuration["testenv"]["by_default"]
    peers, chance, matrix, whole = (
        configuration[f"testenv:{name}"]["commands"] for name in ("peers", "chance", "matrix", "whole")
    )

    assert '-m "matrix and {[testenv]without_peers}"' in matrix.splitlines()[-1]
    assert '-m "{[testenv]beside_peers} and matrix"' in matrix
    assert '-m "{[testenv]beside_peers} and not matrix"' in peers
    assert '-m "chance and {[testenv]by_default}"' in chance
    assert ["matrix" in each for each in both] == [False, True]
    assert "{[testenv:tests]commands}" in whole
    assert '-m "(chance or matrix) and {[testenv]without_peers}"' in whole
    assert '-m "{[testenv]beside_peers}"' in whole
    assert "{[testenv:kafka-tests]commands}" in whole
    assert "TOXENV=static,suite,matrix" in (ROOT / ".ci" / "run").read_text()
    assert "TOXENV=static,whole" in (ROOT / ".ci" / "run").read_text()
