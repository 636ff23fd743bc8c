"""The properties of a roll, by name."""

from __future__ import annotations

from typing import Final

FORESEEN: Final = "always: a roll enters no unsafe state that it could foresee"
READY: Final = "always: a roll goes on only with a group that is as it has to be"
UNDISTURBED: Final = "always: a roll asks only about its plan while nothing happens"
ONCE: Final = "always: a roll repeats a command only if it is told to"
OUTCOME: Final = "always: a roll reports what has come about"
RETURNS: Final = "eventually: a roll back that nobody has overruled can end"
ENDS: Final = "eventually: a roll ends or asks"
WORKS: Final = "always: decide returns a decision"
