"""Remedies followed for every pair of release lines; real members are made at each stop with the settings of then."""

import pytest

from tests.upgrade.java_program import STARTED, jars_of, lines_of
from tests.upgrade.test_remedies import HAVING, STOPPING, follow, harmful, pairs_of, values_of

pytestmark = [pytest.mark.java, pytest.mark.slow]

FIRST_WITH_STREAMS_BUILDER = (1, 0)
LOGS_IN = dict.fromkeys(("login-module-refused", "ldap-login-module-refused"), "is not allowed")
"""Rows of modules that log in while a member is made, which fails here, and how a release says that it refuses them."""


def is_driven(release):
    return release.number >= FIRST_WITH_STREAMS_BUILDER


def line_of(values):
    return "\t".join(f"{key}={value}" for key, value in values.items())


def refused(stops, folder):
    """Return the files that members do not start with, each with its release and the reason.

    Args:
        stops: Releases and their settings, a line each.
    """
    found = {}
    for release in {release for release, _ in stops}:
        questions = folder / release.name
        questions.write_text("\n".join(sorted(line for each, line in stops if each is release)))
        for answer in lines_of(STARTED, jars_of(release.name), "files", questions):
            line, _, reason = answer.rpartition("\t")
            found[release, line] = reason
    return found


@pytest.mark.parametrize("name", [*STOPPING, "internal-task-assignor-class"])
def test_every_plan_whose_remedies_are_followed_leads_to_its_release(name, tmp_path):
    """With them members of each stop are made, and without them those of TO are not if the row is certain."""
    unchanged = line_of(values_of(HAVING[name]))
    pairs = pairs_of(name)
    not_there = refused({(origin, unchanged) for origin, _ in pairs if is_driven(origin)}, tmp_path)
    if name in LOGS_IN:
        not_there = {stop: reason for stop, reason in not_there.items() if LOGS_IN[name] in reason}
    stops, without = set(), set()
    for origin, target in pairs:
        last, on_the_way = follow(HAVING[name], origin, target)
        assert name not in harmful(last)
        if is_driven(origin) and (origin, unchanged) not in not_there:  # a group of FROM has the file
            stops.update((release, line_of(values)) for release, values in on_the_way if is_driven(release))
            without.update({(target, unchanged)} if is_driven(target) else ())
    stops -= {stop for stop in stops if name in LOGS_IN and stop[1] == unchanged}
    answers = refused(stops | without, tmp_path)

    assert {} == {stop: reason for stop, reason in answers.items() if stop in stops}
    if name in STOPPING:
        assert without == {stop for stop, reason in answers.items() if LOGS_IN.get(name, "") in reason}
    assert stops
    assert without
