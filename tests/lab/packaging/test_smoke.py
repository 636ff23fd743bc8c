"""What the distributions contain, without building them: ``tox -e package`` builds them."""

from configparser import ConfigParser
from glob import glob
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.lab.packaging.smoke import PACKAGE, ROOT, missing_files, unexpected_files


def wheel_of(folder, names):
    path = folder / "example.whl"
    with ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def test_the_configuration_packs_one_package_and_no_tests():
    """``probing`` of the index overwrote a package of ours of that name."""
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")
    where = ROOT / configuration["options.packages.find"]["where"]

    packed = {Path(name).parent.as_posix() for name in glob("**/__init__.py", root_dir=where, recursive=True)}  # noqa: PTH207

    assert [PACKAGE] == [path.name for path in where.iterdir() if not path.name.endswith(".egg-info")]
    assert {f"{PACKAGE}/{part}" for part in ("codec", "probing", "upgrade/hazards", "spark_sim/sweep")} < packed
    assert [] == [name for name in packed if {"tests", "docs"} & set(name.split("/"))]


@pytest.mark.parametrize(
    "name",
    ["tests/test_docs.py", "docs/conf.py", "streams_assignor/upgrade/test_planner.py", "probing/rules.py", "setup.py"],
)
def test_a_file_that_does_not_belong_into_a_wheel_is_named(tmp_path, name):
    wheel = wheel_of(
        tmp_path,
        ["streams_assignor/upgrade/releases.py", "example-1.dist-info/METADATA", "streams_assignor/testing.py", name],
    )

    assert [name] == unexpected_files(wheel)


def test_a_file_that_a_wheel_lacks_is_named(tmp_path):
    lacking = missing_files(wheel_of(tmp_path, ["streams_assignor/upgrade/releases.py"]))

    assert "streams_assignor/upgrade/releases.py" not in lacking
    assert {"streams_assignor/upgrade/py.typed", "streams_assignor/upgrade/planner.py"} < set(lacking)
    assert any(name.endswith((".html", ".mjs")) for name in lacking)
    assert {
        "streams_assignor/web/compile.mjs",
        "streams_assignor/web/lock.json",
        "streams_assignor/web/pages/style.css",
    } < set(lacking)
