"""The table of releases, held against what the captures and KIP-268 say."""

import pytest

from probing.rules import BY_NAME
from subscription_codec import LATEST_SUPPORTED_VERSION
from upgrade import UnknownRelease, release_named
from upgrade.releases import NEWEST_OF_LINE, RELEASES


@pytest.mark.parametrize("release", RELEASES.values(), ids=str)
def test_every_release_has_rules_and_a_layout_for_its_version(release):
    assert release.rules in BY_NAME
    assert 1 <= release.latest_version <= LATEST_SUPPORTED_VERSION


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("0.10.0", "0.10.0.1"),
        ("0.10.1", "0.10.1.1"),
        ("1.1", "1.1.1"),
        ("2.0.x", "2.0.1"),
        ("2.0.0", "2.0.0"),
        ("post-2.0", "simulated-4"),
    ],
)
def test_a_line_stands_for_its_newest_release(name, release):
    assert release == release_named(name).name


@pytest.mark.parametrize("name", ["", "3", "2.0.9", "x", "2.0.1 "])
def test_an_unknown_release_is_refused_with_the_known_ones(name):
    with pytest.raises(UnknownRelease, match=r"known are 0\.10\.0\.0 to 2\.3\.1 and"):
        release_named(name)


def test_lines_and_numbers_follow_the_names():
    assert "0.10.2" == release_named("0.10.2.2").line
    assert "simulated-4" == release_named("simulated-4").line
    assert (2, 0, 1) == release_named("2.0.1").number < release_named("simulated-4").number


def test_a_release_that_never_was_does_not_stand_for_its_line():
    assert "0.10.1.1" == NEWEST_OF_LINE["0.10.1"].name
    assert "never released" in RELEASES["0.10.1.2"].note
