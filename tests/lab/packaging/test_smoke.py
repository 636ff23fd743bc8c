"""What the distributions contain, without building them: ``tox -e package`` builds them."""

from configparser import ConfigParser
from fnmatch import fnmatchcase
from zipfile import ZipFile

import pytest

from tests.lab.packaging.smoke import PACKAGES, ROOT, missing_files, unexpected_files


def wheel_of(folder, names):
    path = folder / "example.whl"
    with ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def test_the_configuration_packs_the_five_packages_and_no_tests():
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")
    include = configuration["options.packages.find"]["include"].split()

    tops = [path.parent.name for path in ROOT.glob("*/__init__.py")]
    nested = [path.parent.relative_to(ROOT) for top in tops for path in (ROOT / top).rglob("__init__.py")]
    names = [".".join(path.parts) for path in nested]
    packed = [name for name in names if any(fnmatchcase(name, pattern) for pattern in include)]  # setuptools: find

    assert set(PACKAGES) == {name.partition(".")[0] for name in packed}
    assert [] == [name for name in packed if {"tests", "docs"} & set(name.split("."))]


@pytest.mark.parametrize(
    "name", ["tests/test_docs.py", "docs/conf.py", "upgrade/test_planner.py", "assignor/tests/x.py", "setup.py"]
)
def test_a_file_that_does_not_belong_into_a_wheel_is_named(tmp_path, name):
    wheel = wheel_of(tmp_path, ["upgrade/releases.py", "example-1.dist-info/METADATA", "assignor/testing.py", name])

    assert [name] == unexpected_files(wheel)


def test_a_file_that_a_wheel_lacks_is_named(tmp_path):
    lacking = missing_files(wheel_of(tmp_path, ["upgrade/releases.py"]))

    assert "upgrade/releases.py" not in lacking
    assert {"upgrade/py.typed", "upgrade/planner.py"} < set(lacking)
    assert any(name.endswith((".html", ".mjs")) for name in lacking)
    assert {"assignor/web/compile.mjs", "assignor/web/lock.json", "assignor/web/pages/style.css"} < set(lacking)
