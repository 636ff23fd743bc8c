"""What verifies what: the sentences of KIP-268, and the Java methods that docstrings cite, by the names of tests."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from blocks.markdown import ROOT, table

_PACKAGES: Final = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim")
_MOST_FILES: Final = 4
_NO_TEST: Final = "**no test names it**"
_ABOUT_ALL_FILES: Final = ("tests/test_architecture.py", "tests/test_docs.py", "tests/test_vocabulary.py")

_Sentences = tuple[tuple[str, tuple[str, ...]], ...]

SENTENCES: Final[Mapping[str, _Sentences]] = {
    "Public interfaces": (
        ("`upgrade.from` is new and unset by default", ("without_upgrade_from_the_old_leader_fails",)),
        (
            "its values are the lines from 0.10.0 to 1.1",
            ("every_value_of_the_kip_pins_its_version", "our_own_members_take_every_value_of_the_kip"),
        ),
        (
            "backports to 0.10.1 and later need the value 0.10.0 only",
            (
                "kafka_6054_two_bounces_from_0_10_0_need_a_fixed_release",
                "kafka_6054_two_bounces_with_the_fix_never_fail",
            ),
        ),
    ),
    "Rebalance metadata": (
        (
            "metadata has a second number, the supported version",
            ("each_release_writes_the_supported_version_that_the_reference_says",),
        ),
        (
            "the version is 1 in 0.10.0, 2 from 0.10.1 to 1.1, and 3 in 2.0",
            ("every_release_has_rules_and_a_layout_for_its_version",),
        ),
        ("the fields of version 2", ("bytes_become_the_fields_of_the_jar_and_the_same_bytes_again",)),
        ("the fields of version 3", ("bytes_become_the_fields_of_the_jar_and_the_same_bytes_again",)),
    ),
    "Upgrading to 2.0": (
        (
            "first rolling bounce: new jar, with `upgrade.from`",
            ("1_1_to_2_0_takes_two_bounces_with_upgrade_from", "two_bounces_with_upgrade_from_are_safe"),
        ),
        (
            "with `upgrade.from` a member sends version 1 or 2",
            ("upgrade_from_sends_the_old_encoding_and_gets_a_corresponding_assignment",),
        ),
        (
            "it gets an assignment of the same version",
            ("upgrade_from_sends_the_old_encoding_and_gets_a_corresponding_assignment",),
        ),
        (
            "second rolling bounce: without `upgrade.from`",
            ("an_upgrade_from_that_is_never_removed_keeps_the_old_version", "two_bounces_with_upgrade_from_are_safe"),
        ),
        ("a bounced member may send version 3", ("two_bounces_with_upgrade_from_are_safe",)),
        (
            "one old subscription suffices for assignments of version 1 or 2",
            ("in_the_second_bounce_the_leader_sends_the_old_version_as_long_as_one_old_subscription_is_there",),
        ),
        (
            "only version 3 received: assignments of version 3, upgrade complete",
            ("if_the_leader_receives_only_version_3_it_answers_version_3_and_the_upgrade_is_completed",),
        ),
    ),
    "Version probing": (
        (
            "a leader before the KIP fails on a newer version",
            (
                "without_upgrade_from_the_old_leader_fails",
                "a_java_leader_of_1_1_fails_on_a_member_without_upgrade_from",
            ),
        ),
        (
            "it now answers with its supported version and no tasks, instead of failing",
            (
                "an_old_leader_answers_a_newer_subscription_with_an_empty_assignment_in_kip_268",
                "instead_of_failing_the_leader_answers_a_newer_subscription_beside_a_member_that_cannot_probe",
                "a_bounce_shows_the_exchange_of_the_kip",
            ),
        ),
        (
            "the newer member downgrades and rejoins",
            ("an_upgraded_follower_that_gets_version_x_supporting_x_downgrades_to_x_in_memory",),
        ),
        (
            "after the leader's upgrade all members return to their latest version",
            ("an_upgraded_instance_always_checks_the_supported_version_and_goes_back_up_when_it_can",),
        ),
    ),
    "Detailed upgrade protocol": (
        (
            "a member starts with its latest version",
            ("on_startup_an_instance_optimistically_sends_the_latest_version",),
        ),
        (
            "an old leader sends an empty assignment to the member it does not understand",
            ("an_old_leader_answers_a_newer_subscription_with_an_empty_assignment_in_kip_268",),
        ),
        (
            "this assignment has both versions only, equal to X",
            ("the_empty_assignment_only_encodes_both_versions_used_and_supported_as_the_leaders_in_kip_268",),
        ),
        (
            "all others get a regular assignment of version X",
            ("for_all_other_instances_the_leader_sends_a_regular_assignment_in_version_x",),
        ),
        (
            "the newer member downgrades in memory and sends X",
            (
                "an_upgraded_follower_that_gets_version_x_supporting_x_downgrades_to_x_in_memory",
                "a_restart_forgets_the_downgrade_because_it_is_in_memory_only",
            ),
        ),
        ("it forces a second rebalance at once", ("a_downgraded_follower_forces_an_immediate_second_rebalance",)),
        (
            "a leader that gets one X sends X; before its upgrade it supports X",
            ("as_long_as_one_old_subscription_is_there_the_leader_before_its_upgrade_answers_x",),
        ),
        (
            "after its upgrade it supports Y",
            ("as_long_as_one_old_subscription_is_there_the_upgraded_leader_answers_x_too",),
        ),
        (
            "a member compares the supported version each time and goes up if it can",
            ("an_upgraded_instance_always_checks_the_supported_version_and_goes_back_up_when_it_can",),
        ),
        (
            "one rolling bounce without configuration suffices",
            (
                "a_safe_upgrade_is_safe_in_every_run_and_probes",
                "one_bounce_from_2_0_to_a_simulated_4_probes_and_ends_on_4",
            ),
        ),
        (
            "if the leader is last, one more rebalance completes the upgrade",
            ("if_the_leader_is_bounced_last_one_more_rebalance_finishes_the_upgrade",),
        ),
        (
            "the leader triggers it, and only then",
            (
                "the_leader_does_not_trigger_a_final_rebalance_while_an_old_member_is_left",
                "if_the_leader_is_not_bounced_last_no_additional_rebalance_is_needed",
            ),
        ),
    ),
    "Compatibility": (
        ("two bounces lead to 2.0 without downtime", ("two_bounces_with_upgrade_from_are_safe",)),
        ("stopping all members works, too", ("a_stopped_group_is_safe_and_a_release_needs_no_way_to_itself",)),
    ),
    "Test plan": (
        (
            "unit tests of the reaction to configuration and received versions",
            ("upgrade_from_sends_the_old_encoding_and_gets_a_corresponding_assignment",),
        ),
        ("rolling bounces of whole groups", ("safe_upgrades_are_safe_on_every_schedule",)),
        (
            "failures during the upgrade",
            (
                "a_crash_in_the_middle_of_a_rebalance_is_followed_by_another_one",
                "safe_upgrades_are_safe_on_every_schedule",
            ),
        ),
        ("simulated upgrades to version 4", ("one_bounce_from_2_0_to_a_simulated_4_probes_and_ends_on_4",)),
        ("the test matrix", ("the_matrix_has_the_28_cells_of_the_kip_and_three_plans_in_each",)),
    ),
}
"""The sentences of KIP-268 in short, by section, each with the tests that verify it, without ``test_``."""


class _Citation(NamedTuple):
    """A Java method in a docstring."""

    java_class: str
    method: str
    module: str
    owner: str
    """The function, class or constant that the docstring belongs to; empty for the module."""


def sentences() -> str:
    """Number the sentences of KIP-268, and list the tests of each."""
    files = {name: path for path, functions in _test_functions().items() for name in functions}
    rows, number = [], 0
    for section, found in SENTENCES.items():
        for sentence, names in found:
            number += 1
            tests = [_test_link(f"test_{name}", files) for name in names]
            rows.append((number, section, sentence, "<br>".join(tests) or _NO_TEST))
    return table(("number", "section", "sentence, in short", "tests"), rows)


def _test_link(name: str, files: Mapping[str, str]) -> str:
    if name not in files:
        raise LookupError(f"docs/blocks/traceability.py names {name}, which is no test")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../../{files[name]})"


def java_methods() -> str:
    """List the Java methods that docstrings cite, with the test files that verify the code that cites them."""
    kept = json.loads((ROOT / "tests/lab/kafka_unit_tests/results.json").read_text(encoding="utf-8"))
    judged = {".".join(method.split(".")[-2:]) for methods in kept["bridges"].values() for method in methods}
    by_method: dict[str, list[_Citation]] = {}
    for citation in _citations():
        name = f"{citation.java_class}.{citation.method}" if citation.java_class else citation.method
        by_method.setdefault(name, []).append(citation)
    rows = []
    for name, citations in sorted(by_method.items(), key=lambda item: item[0].lower()):
        modules = sorted({citation.module for citation in citations})
        files = list(dict.fromkeys(path for citation in citations for path in _verifying_files(citation)))
        links = [f"[{Path(path).stem}](../../{path})" for path in files[:_MOST_FILES]]
        if name in judged or name in {each.split(".")[1] for each in judged}:
            links.insert(0, "[Kafka's own](kafka-unit-tests.md)")
        rows.append(
            (f"`{name}`", ", ".join(f"`{_import_name(module)}`" for module in modules), ", ".join(links) or _NO_TEST)
        )
    return table(("Java", "cited in", "tests"), rows)


def _import_name(module: str) -> str:
    """Return the name of a module, named by its folder, as it is imported.

    >>> _import_name("streams_assignor.codec.quirks"), _import_name("probing")
    ('streams_assignor.codec.quirks', 'streams_assignor.probing')
    """
    folder, dot, rest = module.partition(".")
    parts = {"assignor": "streams_assignor", "subscription_codec": "streams_assignor.codec"}
    return parts.get(folder, f"streams_assignor.{folder}") + dot + rest


def _citations() -> Iterator[_Citation]:
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
            source = path.read_text(encoding="utf-8")
            for owner, text in _docstrings(ast.parse(source)) if "Java:" in source else ():
                for java_class, method in _java_methods_in(text):
                    yield _Citation(java_class, method, module, owner)


def _docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield every docstring with the name it belongs to, also those below constants and fields."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", ""), text
        if isinstance(node, ast.Module | ast.ClassDef) and body:
            for before, after in pairwise(body):
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    target = getattr(before, "target", None) or (getattr(before, "targets", None) or [None])[0]
                    if isinstance(target, ast.Name):
                        yield target.id, str(after.value.value)


_CITED: Final = re.compile(r"Java: ((?:[^.)]|\.(?=\w)|\)(?=`))*)")
_METHOD: Final = re.compile(r"(?:([A-Z]\w*)\.)?([a-z][a-z0-9]*[A-Z]\w*|[a-z]\w+)(?:\(.*\))?$")


def _java_methods_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield class and method; a method without a class belongs to the class before it, if there is one."""
    for cited in _CITED.findall(" ".join(text.split())):
        java_class = ""
        for name in re.findall(r"``([^`]+)``", cited):
            if re.fullmatch(r"[A-Z]\w*", name):
                java_class = name
            elif (
                not name.endswith(".json") and (found := _METHOD.match(name)) and (found[1] or re.search("[A-Z]", name))
            ):
                java_class = found[1] or java_class
                yield java_class, found[2]


def _verifying_files(citation: _Citation) -> list[str]:
    """Return the file that mirrors the module, then those whose tests use the name that cites.

    For a private name and a module that no file mirrors: those whose tests use a public name of the module.
    """
    *folders, last = citation.module.split(".")
    folder = "/".join(["tests", *folders])
    mirrored = [f"{folder}/test_{last.lstrip('_')}.py", f"{folder}/{last}/test_{last}.py"]
    files = [path for path in mirrored if path in _test_functions()]
    if citation.owner:
        files += _files_that_use([citation.owner])
    if not files and (not citation.owner or citation.owner.startswith("_")):
        files = [
            path for path in _files_that_use(_public_names(citation.module)) if path.startswith(f"tests/{folders[0]}")
        ]
    return list(dict.fromkeys(files))


def _files_that_use(names: Iterable[str]) -> list[str]:
    return [path for path, words in _words_of_tests().items() if not words.isdisjoint(names)]


@cache
def _words_of_tests() -> dict[str, set[str]]:
    return {path: set(re.findall(r"\w+", " ".join(parts.values()))) for path, parts in _test_functions().items()}


@cache
def _public_names(module: str) -> list[str]:
    """Return the functions and classes that a module defines for others."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    source = (path if path.exists() else path.with_suffix("") / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r"^(?:def|class) ([A-Za-z]\w*)", source, re.MULTILINE) or [module.rpartition(".")[2]]


@cache
def _test_functions() -> dict[str, dict[str, str]]:
    """Return the source of each test by file and name."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name in _ABOUT_ALL_FILES:
            continue
        text = path.read_text(encoding="utf-8")
        parts = re.split(r"^(?:    )?def (?=test_)", text, flags=re.MULTILINE)[1:]
        found[name] = {re.match(r"\w+", part)[0]: part for part in parts}
    return found


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"sentences of KIP-268": sentences, "java methods": java_methods}
