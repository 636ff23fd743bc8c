"""Obstacles of an upgrade beyond the metadata of the group: stores, configuration, Java, brokers; and the way back.

Facts are rows of one table, each with its source and with what was run. A hazard is information: it changes no verdict.
"""

from streams_assignor.upgrade.hazards._application import (
    BORROWED_LIBRARY,
    MISSING_LIBRARY,
    UNKNOWN_VALUE,
    Application,
    ApplicationTopology,
    CodeFacts,
    CodeSettings,
    GroupFacts,
    Lacking,
    LoadedFile,
    Setting,
    SettingFacts,
    version_number,
)
from streams_assignor.upgrade.hazards._checked import CheckedScope, ReadGuides, scope_of
from streams_assignor.upgrade.hazards._conditions import UNSET, Answer, Ask, Brokers, Concern, Condition
from streams_assignor.upgrade.hazards._evidence import CONTRADICTIONS, COULD_SET, Contradiction, Subject
from streams_assignor.upgrade.hazards._guide_entries import (
    Guide,
    GuideEntry,
    PassedEntries,
    Rule,
    entries_between,
    guide_entries,
)
from streams_assignor.upgrade.hazards._hazard import (
    NOT_RUN,
    Hazard,
    HazardSubject,
    ReleaseRange,
    Severity,
    count_by_severity,
    order_hazards,
)
from streams_assignor.upgrade.hazards._judgement import (
    JudgedFeatures,
    JudgedHazard,
    judge_condition,
    judge_features,
    judge_hazards,
)
from streams_assignor.upgrade.hazards._known_bugs import KNOWN_BUGS, KnownBug
from streams_assignor.upgrade.hazards._stores import EMPTY_DIRECTORY, STORE_FORMATS, StoreFormat
from streams_assignor.upgrade.hazards._streams_groups import TOPOLOGY_UPDATES, in_streams_group
from streams_assignor.upgrade.hazards._table import HAZARDS, hazards_between, static_downgrade
from streams_assignor.upgrade.hazards._topologies import TopologyChange, compare_topologies, parse_subtopologies
from streams_assignor.upgrade.hazards._usual_conditions import (
    CLIENT_SUPPLIER,
    NAMED_TOPOLOGIES,
    PATTERN_SOURCES,
    STANDBYS,
    STATIC_AFTERWARDS,
    STORES,
)
from streams_assignor.upgrade.hazards._way_back import (
    StepKind,
    WayBack,
    WayBackVerdict,
    assumptions_of,
    source_of,
    way_back,
)
from streams_assignor.upgrade.hazards._wrappers import (
    CLEAN_UP,
    CLEAN_UP_CLASSES,
    PASSIVE_LIBRARIES,
    WrapperLine,
    wrapper_for,
    wrapper_lines,
)

__all__ = [
    "BORROWED_LIBRARY",
    "CLEAN_UP",
    "CLEAN_UP_CLASSES",
    "CLIENT_SUPPLIER",
    "CONTRADICTIONS",
    "COULD_SET",
    "EMPTY_DIRECTORY",
    "HAZARDS",
    "KNOWN_BUGS",
    "MISSING_LIBRARY",
    "NAMED_TOPOLOGIES",
    "NOT_RUN",
    "PASSIVE_LIBRARIES",
    "PATTERN_SOURCES",
    "STANDBYS",
    "STATIC_AFTERWARDS",
    "STORES",
    "STORE_FORMATS",
    "TOPOLOGY_UPDATES",
    "UNKNOWN_VALUE",
    "UNSET",
    "Answer",
    "Application",
    "ApplicationTopology",
    "Ask",
    "Brokers",
    "CheckedScope",
    "CodeFacts",
    "CodeSettings",
    "Concern",
    "Condition",
    "Contradiction",
    "GroupFacts",
    "Guide",
    "GuideEntry",
    "Hazard",
    "HazardSubject",
    "JudgedFeatures",
    "JudgedHazard",
    "KnownBug",
    "Lacking",
    "LoadedFile",
    "PassedEntries",
    "ReadGuides",
    "ReleaseRange",
    "Rule",
    "Setting",
    "SettingFacts",
    "Severity",
    "StepKind",
    "StoreFormat",
    "Subject",
    "TopologyChange",
    "WayBack",
    "WayBackVerdict",
    "WrapperLine",
    "assumptions_of",
    "compare_topologies",
    "count_by_severity",
    "entries_between",
    "guide_entries",
    "hazards_between",
    "in_streams_group",
    "judge_condition",
    "judge_features",
    "judge_hazards",
    "order_hazards",
    "parse_subtopologies",
    "scope_of",
    "source_of",
    "static_downgrade",
    "version_number",
    "way_back",
    "wrapper_for",
    "wrapper_lines",
]
