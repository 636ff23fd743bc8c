"""The lock of tested dependencies beside what setup.cfg requires."""

import pytest

from tests.lab.packaging.lock import direct_requirements, installed_versions, read_lock


# Several extras may have one requirement.
@pytest.mark.parametrize("requirement", {str(each): each for each in direct_requirements()}.values(), ids=str)
def test_a_requirement_admits_its_tested_version(requirement):
    assert requirement.specifier.contains(read_lock()[requirement.name])


def test_the_lock_has_what_the_dependencies_need_too():
    assert {"markdown-it-py", "py4j"} < read_lock().keys()


def test_an_environment_with_all_extras_gives_a_lock_of_the_same_packages():
    """Versions differ as registries move on; names differ only with the Python version."""
    direct = {each.name for each in direct_requirements()}

    assert direct <= installed_versions().keys()
