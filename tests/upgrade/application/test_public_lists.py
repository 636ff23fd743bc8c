"""Public lists of changes: each change is in the tables, in a hazard, or has a reason."""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from streams_assignor.upgrade.application.api_diff import compare_api, java_name
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.configuration import compare_configurations, configuration_of
from streams_assignor.upgrade.application.dependencies import compare_dependencies
from streams_assignor.upgrade.application.environment import compare_environments
from streams_assignor.upgrade.hazards import HAZARDS
from streams_assignor.upgrade.releases import RELEASES

LISTS = tomllib.loads((Path(__file__).parent / "public_lists.toml").read_text(encoding="utf-8"))["list"]
SCALA = "2.13"
API = ("removed", "deprecated", "added")


@cache
def api(old, new, scala=""):
    """The changes of the public API as they are in Java, without parameters."""
    changes = compare_api(*(code_of(RELEASES[name], scala) for name in (old, new)))
    return {(each.change.partition(",")[0], each.text.partition("(")[0]) for each in changes}


@cache
def keys(old, new):
    found = compare_configurations(*(configuration_of(RELEASES[name]) for name in (old, new))).keys
    return [(each.key, each.as_json()) for each in found]


@cache
def internal_classes_gone(old, new):
    before, after = (code_of(RELEASES[name]) for name in (old, new))
    return {java_name(name) for name in before.keys() - after.keys()}


def known(old, new, where, name):
    """Whether the tables or the hazards have a change."""
    if where in API:
        return any(change == where and text.endswith(f".{name}") for change, text in api(old, new))
    if where == "scala":
        scala = "org.apache.kafka.streams.scala."
        texts = (text for change, text in api(old, new, SCALA) if change == "removed" and text.startswith(scala))
        return any(text.endswith(f".{name}") for text in texts)
    if where == "class":
        return name in internal_classes_gone(old, new)
    if where in {"key", "key deprecated", "default", "values"}:
        facts = [plain for key, plain in keys(old, new) if key == name]
        wanted = {"key": ("change", "removed"), "key deprecated": ("deprecated", [False, True])}.get(where)
        if wanted:
            return any(plain.get(wanted[0]) == wanted[1] for plain in facts)
        return any({"default": "default", "values": "validator"}[where] in plain for plain in facts)
    if where == "environment":
        return name in {each.name for each in compare_environments(RELEASES[old], RELEASES[new])}
    if where == "row":
        return name in {each.name for each in HAZARDS}
    found = compare_dependencies(RELEASES[old], RELEASES[new])
    names = {
        "library": {each.library for each in found.libraries},
        "artifact": {*found.artifacts_added, *found.artifacts_removed},
        "java": {each.name for each in found.java},
    }
    return name in names[where]


@pytest.mark.unmeasured
@pytest.mark.parametrize("changes", [pytest.param(each, id=each["name"]) for each in LISTS])
def test_each_change_is_known_or_has_a_reason(changes):
    rows = [(text, where, name) for text, where, name in changes["changes"] if where != "reason"]

    assert [] == [row for row in rows if not known(changes["from"], changes["to"], *row[1:])]


def test_what_is_not_there_is_not_known():
    places = (*API, "scala", "class", "key", "key deprecated", "default", "values", "environment", "row", "library")

    assert not any(known("3.9.0", "4.0.0", where, "NoSuchName") for where in (*places, "artifact", "java"))
