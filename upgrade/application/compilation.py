"""The errors of a compiler that linkage does not show, as far as class files tell.

A class file has no ``@Override``, no names of constants that a compiler has copied, and no scopes of libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from streams_assignor.upgrade.application.api_diff import java_name
from streams_assignor.upgrade.application.code import Code
from streams_assignor.upgrade.application.dependencies import Dependency
from streams_assignor.upgrade.application.linkage import LinkageReport
from streams_assignor.upgrade.application.needs import PACKAGES
from streams_assignor.upgrade.hazards import CodeSettings

_CONFIG: Final = "org/apache/kafka/streams/StreamsConfig"
_TEXT: Final = "Ljava/lang/String;"
_COPIED: Final = {
    "at_least_once": "AT_LEAST_ONCE",
    "auto.include.jmx.reporter": "AUTO_INCLUDE_JMX_REPORTER_CONFIG",
    "default.windowed.key.serde.inner": "DEFAULT_WINDOWED_KEY_SERDE_INNER_CLASS",
    "default.windowed.value.serde.inner": "DEFAULT_WINDOWED_VALUE_SERDE_INNER_CLASS",
    "exactly_once": "EXACTLY_ONCE",
    "exactly_once_beta": "EXACTLY_ONCE_BETA",
    "key.serde": "KEY_SERDE_CLASS_CONFIG",
    "partition.grouper": "PARTITION_GROUPER_CLASS_CONFIG",
    "retries": "RETRIES_CONFIG",
    "timestamp.extractor": "TIMESTAMP_EXTRACTOR_CLASS_CONFIG",
    "topology.optimization": "TOPOLOGY_OPTIMIZATION",
    "value.serde": "VALUE_SERDE_CLASS_CONFIG",
    "zookeeper.connect": "ZOOKEEPER_CONNECT_CONFIG",
}
"""Constants of ``StreamsConfig`` by their texts, of which only the text is in a class file."""


def refused_by_compilers(
    report: LinkageReport,
    code: tuple[Code, Code],
    needs: tuple[tuple[Dependency, ...], tuple[Dependency, ...]],
    made: CodeSettings,
    naming: Callable[[tuple[str, ...]], list[str]],
) -> Iterator[str]:
    """Yield what a compiler refuses, or may refuse, in the application's own classes.

    Args:
        report: Of the references.
        code: The classes of the release that the application leaves, and of the one that it goes to.
        needs: The libraries that Kafka Streams brings in both.
        made: The settings that the classes make.
        naming: Returns the own classes that name a class with such a beginning.
    """
    yield from _overriding_nothing(report)
    yield from _copied_constants(made, *code)
    yield from _lost_scopes(*needs, naming)


def _overriding_nothing(report: LinkageReport) -> Iterator[str]:
    for element, referrers in report.overrides_nothing.items():
        for name in (java_name(referrer.name) for referrer in referrers if referrer.library.is_own):
            yield f"@Override in {name}: {element.text} is gone, and nothing calls yours any more"


def _copied_constants(made: CodeSettings, old: Code, new: Code) -> Iterator[str]:
    for key, settings in made.values.items():
        for setting in settings:
            for text in (key, setting.value):
                member = _COPIED.get(text, ""), _TEXT
                if member in old[_CONFIG].members and member not in new[_CONFIG].members:
                    yield f"StreamsConfig.{member[0]} is gone, if {setting.where} has it for {text}"


def _lost_scopes(
    before: tuple[Dependency, ...], after: tuple[Dependency, ...], naming: Callable[[tuple[str, ...]], list[str]]
) -> Iterator[str]:
    scopes = {dependency.artifact: dependency.scope for dependency in after}
    for artifact in dict.fromkeys(dependency.artifact for dependency in before if dependency.scope == "compile"):
        if scopes.get(artifact) == "runtime" and (names := naming(PACKAGES.get(artifact, ()))):
            yield (
                f"{java_name(names[0])} refers to {artifact}, which Kafka Streams brings at run time only: name it "
                "as a dependency of your own"
            )
