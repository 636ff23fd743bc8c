"""From the classic protocol to the streams protocol (KIP-1071) and back: what blocks, what to set, the steps.

Facts are rows of tables; ``planner`` and ``preflight``, the judgement of a live group, are pure.
"""

# mypy: implicit-reexport
from streams_assignor.upgrade.streams_protocol._commands import Target
from streams_assignor.upgrade.streams_protocol._facts import SURVIVALS, Protocol
from streams_assignor.upgrade.streams_protocol._hazards import TO_STREAMS
from streams_assignor.upgrade.streams_protocol.requirements import (
    REQUIREMENTS,
    Facts,
    JudgedRequirement,
    Reliance,
    RequirementStatus,
    reliances_named,
)
