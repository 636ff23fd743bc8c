"""The settings and the topology of an application as facts with which the conditions of hazards are compared."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from streams_assignor.upgrade.application.setting_files import Settings, Variant, default_of, is_placeholder
from streams_assignor.upgrade.application.setting_names import keys_elsewhere
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE, ApplicationTopology, Setting, SettingFacts
from streams_assignor.upgrade.topology_description import DescribedNode, parse_topology_description


def setting_facts(source: str, settings: Settings) -> tuple[SettingFacts, ...]:
    """Return the settings of files, each with its line: once for each of the conditions that the files have."""
    return tuple(
        SettingFacts(
            source,
            {
                key: _setting(value, _place(source, variant, key))
                for key, value in {**variant.values, **variant.of_wrappers}.items()
            },
            {
                name: Setting(UNKNOWN_VALUE, _place(source, variant, key), reaches_kafka=False)
                for name, key in keys_elsewhere(variant).items()
            },
            tuple(f"{file or source} as {form}" for file, form in settings.forms),
            tuple(f"{file or source} {words}" for file, words in settings.elsewhere),
            settings.framework,
            settings.shows,
            tuple(f"{file or source} {words}" for file, words in settings.agents),
        )
        for variant in settings.variants
    )


def _setting(value: str, where: str) -> Setting:
    if not is_placeholder(value):
        return Setting(value, where)
    default = default_of(value)
    return Setting(UNKNOWN_VALUE, where) if default is None else Setting(default, where, is_default=True)


def _place(source: str, variant: Variant, key: str) -> str:
    number = variant.lines.get(key) or variant.unread.get(key)
    line = f" line {number}" if number else ""
    conditions = f" ({', '.join(variant.conditions)})" if variant.conditions else ""
    return f"{variant.files.get(key, source)}{line}{conditions}"


def described_topology(source: str, text: str) -> ApplicationTopology:
    """Return the nodes of a ``Topology#describe()`` text.

    Raises:
        UpgradeError: The text is no topology.
    """
    return ApplicationTopology(source, parse_topology_description(text, source))


def joined_topologies(topologies: Iterable[ApplicationTopology]) -> ApplicationTopology:
    """Return several topologies of an application as one: the numbers of their subtopologies go on."""
    sources, nodes = list[str](), list[DescribedNode]()
    for topology in topologies:
        first = max((node.subtopology + 1 for node in nodes if node.subtopology is not None), default=0)
        sources.append(topology.source)
        for node in topology.nodes:
            nodes.append(evolve(node, subtopology=None if node.subtopology is None else node.subtopology + first))
    return ApplicationTopology(", ".join(sources), tuple(nodes))
