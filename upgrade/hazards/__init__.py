"""Obstacles of an upgrade beyond the metadata of the group: stores, configuration, Java, brokers; and the way back.

Facts are rows of one table, each with its source and with what was run. A hazard is information: it changes no verdict.
"""

# mypy: implicit-reexport
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
from streams_assignor.upgrade.hazards._evidence import CONTRADICTIONS, COULD_SET, Subject
from streams_assignor.upgrade.hazards._guide_entries import (
    Guide,
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
    count_concerns,
    judge_condition,
    judge_features,
    judge_hazards,
    severe_bugs,
    with_fixed_releases,
)
from streams_assignor.upgrade.hazards._known_bugs import KNOWN_BUGS, WITHOUT_ROW
from streams_assignor.upgrade.hazards._remedy import YOURS, Remedy, RemedyKind, edit, resolve_remedy
from streams_assignor.upgrade.hazards._stores import EMPTY_DIRECTORY, STORE_FORMATS
from streams_assignor.upgrade.hazards._streams_groups import TOPOLOGY_UPDATES, in_streams_group
from streams_assignor.upgrade.hazards._table import HAZARDS, hazards_between, static_downgrade
from streams_assignor.upgrade.hazards._topologies import TopologyChange, compare_topologies, parse_subtopologies
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
from streams_assignor.upgrade.hazards.conditions import UNSET, Answer, Ask, Brokers, Concern, Condition
from streams_assignor.upgrade.hazards.usual_conditions import (
    CLIENT_SUPPLIER,
    NAMED_TOPOLOGIES,
    PATTERN_SOURCES,
    STANDBYS,
    STATIC_AFTERWARDS,
    STORES,
)
