"""The commands of ``streams-assignor`` that need no simulator, loaded when they are called.

``spark_sim.cli.main`` adds those of the simulator and is the console script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from assignor.cli.lazy_group import LazyCommand

if TYPE_CHECKING:
    import click


def _load_assign() -> click.Command:
    from assignor.cli._assign import assign

    return assign


def _load_bounce() -> click.Command:
    from assignor.cli._bounce import bounce

    return bounce


def _load_features() -> click.Command:
    from upgrade.features.cli.commands import features

    return features


def _load_group() -> click.Command:
    from assignor.cli._group import group

    return group


def _load_member() -> click.Command:
    from assignor.cli._member import member

    return member


def _load_userdata() -> click.Command:
    from assignor.cli._userdata import userdata

    return userdata


PLAN: Final = "Plan an upgrade"
INSPECT: Final = "Inspect and decode"
SIMULATE: Final = "Simulate"
BROKERS: Final = "Brokers"
RUN: Final = "Run real members"

COMMANDS: Final = {
    "group": LazyCommand(
        _load_group,
        "A live group: versions, tasks, upgrade status, findings.",
        INSPECT,
        "a call to the cluster takes at most 10 seconds, an answer has at most 100 MiB, --command-config 16 MiB. Time "
        "and memory grow with the members; 300,000 take about half a minute.",
    ),
    "userdata": LazyCommand(
        _load_userdata,
        "Decode, encode and explain rebalance metadata.",
        INSPECT,
        "a line of standard input has at most 16 MiB, a line of a file and a capture 256 MiB.",
    ),
    "assign": LazyCommand(
        _load_assign,
        "Assign tasks offline, with the assignors of any release.",
        SIMULATE,
        "a line has at most 16 MiB. Lines are independent: memory is that of one group.",
    ),
    "bounce": LazyCommand(
        _load_bounce,
        "A live rolling bounce (rolling restart) of real member processes.",
        RUN,
        "each member is a process. A group that is not stable within a minute ends it with status 1.",
        shows_itself=True,
    ),
    "member": LazyCommand(
        _load_member,
        "A small real member of a group, printing JSON events.",
        RUN,
        "none of its own; it runs until it is stopped.",
        shows_itself=True,
    ),
    "features": LazyCommand(
        _load_features,
        "Show, raise and lower the feature versions of a cluster.",
        BROKERS,
        "a call takes at most --timeout seconds, --command-config has at most 16 MiB.",
    ),
}
"""By name, in the order of ``--help``."""
