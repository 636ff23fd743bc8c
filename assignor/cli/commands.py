"""The commands of ``streams-assignor``, one row each; a command is imported when it is called."""

from typing import Final

from streams_assignor.cli.lazy_group import LazyCommand

_PLAN: Final = "Plan an upgrade"
_INSPECT: Final = "Inspect and decode"
_SIMULATE: Final = "Simulate"
_BROKERS: Final = "Brokers"
_RUN: Final = "Run real members"

COMMANDS: Final = {
    "plan": LazyCommand(
        "streams_assignor.cli.plan.command:plan",
        "The steps of a safe upgrade from one release to another.",
        _PLAN,
        "1,000 members and 10,000 tasks, of which 20 and 200 are played; five members are explored. A file has at most "
        "16 MiB, and each of --topologies 2,500 sub-topologies. --app: 500,000 entries that expand to 2 GiB.",
    ),
    "release": LazyCommand(
        "streams_assignor.cli.release:release",
        "What is known about one release.",
        _PLAN,
        "none; it reads neither file nor network.",
    ),
    "web": LazyCommand(
        "streams_assignor.cli.web:web",
        "The same in a web page that reads files and uploads none.",
        _PLAN,
        "the files of the page are in memory, 20 MB; npm has ten minutes to fetch Python for browsers.",
    ),
    "group": LazyCommand(
        "streams_assignor.cli.group.command:group",
        "A live group: versions, tasks, upgrade status, findings.",
        _INSPECT,
        "a call to the cluster takes at most 10 seconds, an answer has at most 100 MiB, --command-config 16 MiB. Time "
        "and memory grow with the members; 300,000 take about half a minute.",
    ),
    "roll": LazyCommand(
        "streams_assignor.cli.roll.command:roll",
        "Upgrade a live group step by step, with gates and a way back.",
        _PLAN,
        "10,000 instances, and a journal of 256 MiB. Of a command the last 2,000 bytes of output are kept. A look at "
        "the group takes at most 10 seconds; forecasts grow with the members and tasks (--no-forecast).",
        shows_itself=True,
    ),
    "userdata": LazyCommand(
        "streams_assignor.cli.userdata:userdata",
        "Decode, encode and explain rebalance metadata.",
        _INSPECT,
        "a line of standard input has at most 16 MiB, a line of a file and a capture 256 MiB.",
    ),
    "assign": LazyCommand(
        "streams_assignor.cli.assign:assign",
        "Assign tasks offline, with the assignors of any release.",
        _SIMULATE,
        "a line has at most 16 MiB. Lines are independent: memory is that of one group.",
    ),
    "bounce": LazyCommand(
        "streams_assignor.cli.bounce:bounce",
        "A live rolling bounce (rolling restart) of real member processes.",
        _RUN,
        "each member is a process. A group that is not stable within a minute ends it with status 1.",
        shows_itself=True,
    ),
    "member": LazyCommand(
        "streams_assignor.cli.member:member",
        "A small real member of a group, printing JSON events.",
        _RUN,
        "none of its own; it runs until it is stopped.",
        shows_itself=True,
    ),
    "features": LazyCommand(
        "streams_assignor.cli.features.command:features",
        "Show, raise and lower the feature versions of a cluster.",
        _BROKERS,
        "a call takes at most --timeout seconds, --command-config has at most 16 MiB.",
    ),
    "audit": LazyCommand(
        "streams_assignor.cli.audit.command:audit",
        "The history of every group, from __consumer_offsets.",
        _INSPECT,
        "a batch expands to at most --max-batch-bytes, a line of a dump has at most 64 MiB, and the page shows a "
        "million rebalances. Each process takes up to 72 KiB for each group of its partition that is not gone. A "
        "group that is deleted takes up to 1.2 KB in the main process: a million need about 1.4 GB.",
    ),
    "replay": LazyCommand(
        "streams_assignor.cli.replay:replay",
        "One simulated scenario, explained step by step.",
        _SIMULATE,
        "10,000 partitions of a topic, 100 threads and standbys. More than 20 rebalances after one step count as "
        "endless. Time grows with the square of the members.",
    ),
    "sweep": LazyCommand(
        "streams_assignor.cli.sweep:sweep",
        "Every way an upgrade can go, simulated on Spark.",
        _SIMULATE,
        "1,000 members; five and fewer are explored, more are sampled.",
    ),
    "report": LazyCommand(
        "streams_assignor.cli.report:report",
        "Tables and pictures of a finished sweep.",
        _SIMULATE,
        "none of its own; the results of a sweep are in memory as a whole.",
    ),
    "conform": LazyCommand(
        "streams_assignor.cli.conform:conform",
        "Compare captures of real groups with simulated members.",
        _SIMULATE,
        "a capture has at most 256 MiB. Time and memory grow with its members and generations.",
    ),
}
"""The commands by name, in the order of ``--help``."""
