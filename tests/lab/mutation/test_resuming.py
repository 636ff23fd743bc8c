"""A second run goes on where the first one ended, in a copy with the links, and the quickest tests run first."""

from tests.lab.mutation.record import Kept
from tests.lab.mutation.tree import Coverage, _refresh

RESULT = {"mutant": "0123456789", "outcome": "killed"}


def package(root, source):
    module = root / "pkg" / "__init__.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text(source)


def test_results_are_there_in_the_next_run_until_the_package_or_the_seed_is_another(tmp_path):
    package(tmp_path, "A = 1")
    Kept(tmp_path / "kept", tmp_path, "pkg", 1).add(RESULT)

    assert {"0123456789": RESULT} == Kept(tmp_path / "kept", tmp_path, "pkg", 1).by_mutant
    assert {} == Kept(tmp_path / "kept", tmp_path, "pkg", 2).by_mutant
    package(tmp_path, "A = 2")
    assert {} == Kept(tmp_path / "kept", tmp_path, "pkg", 1).by_mutant


def test_the_last_result_of_a_mutant_counts(tmp_path):
    package(tmp_path, "")
    kept = Kept(tmp_path, tmp_path, "pkg", 1)
    kept.add(RESULT | {"outcome": "survived"})
    kept.add(RESULT)

    assert {"0123456789": RESULT} == Kept(tmp_path, tmp_path, "pkg", 1).by_mutant


def test_the_quickest_file_that_passes_the_line_is_first():
    lines = {"a.py": {"3": ["slow.py::x", "quick.py::y[1]"], "4": ["slow.py::z"], "9": ["quick.py::other"]}}
    coverage = Coverage({}, {"slow.py": 9.0, "quick.py": 1.0}, lines)
    found = coverage.by_file("a.py", range(3, 5))

    assert ["quick.py", "slow.py"] == list(found)
    assert (["quick.py::y[1]"], {"slow.py::x", "slow.py::z"}) == (found["quick.py"], {*found["slow.py"]})
    assert {} == coverage.by_file("b.py", range(3, 5))


def test_a_file_that_passes_the_line_only_when_it_is_imported_runs_too():
    lines = {"a.py": {"3": ["slow.py", "quick.py::y[1]"], "9": ["other.py"]}}
    coverage = Coverage({}, {"slow.py": 9.0, "quick.py": 1.0, "other.py": 1.0}, lines)

    assert ["quick.py"] == list(coverage.by_file("a.py", range(3, 5)))
    assert ["quick.py", "slow.py"] == coverage.files("a.py", range(3, 5))
    assert [] == coverage.files("a.py", range(5, 9))


def test_a_link_of_the_tree_is_a_link_of_the_copy(tmp_path):
    """The tests imported a second copy of each package, without mutants, so that nearly all survived."""
    package, link = tmp_path / "assignor" / "__init__.py", tmp_path / "src" / "streams_assignor"
    for path in (package, link):
        path.parent.mkdir()
    package.write_text("")
    link.symlink_to("../assignor")
    for _ in range(2):
        _refresh(tmp_path, tmp_path / "copy")

    assert (tmp_path / "copy/assignor") == (tmp_path / "copy/src/streams_assignor").resolve()
