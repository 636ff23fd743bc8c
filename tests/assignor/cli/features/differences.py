"""The rows of the guide's table of differences: a command line each, and what both tools make of it.

``FILE`` stands for a properties file with a timeout of a second.
"""

from pathlib import Path
from typing import Final, NamedTuple

GUIDE: Final = Path(__file__).parents[4] / "docs/how-to/features.md"


class Outcome(NamedTuple):
    """An exit status, and how standard output and standard error begin; an empty text means no output."""

    status: int
    out: str = ""
    err: str = ""


class Difference(NamedTuple):
    """One command line that the tools treat differently, under its row in the guide."""

    row: str
    arguments: str
    kafkas: Outcome
    ours: Outcome


_NO_CLIENT: Final = Outcome(1, err="Failed to create new KafkaAdminClient\n")
_MAPPING: Final = Outcome(0, "metadata.version=25 (")
_ADDRESS: Final = "the address of the cluster, `--command-config`"
_INVALID: Final = "an invalid address (`nonsense`, no port)"
_EMPTY: Final = "an empty entry among the addresses (`a:1,,`)"
_FILE: Final = "a `--command-config` that cannot be read"
_NUMBER: Final = "`--metadata`, `--release-version`"
_ADDITIONAL: Final = "additional"
_HELP: Final = "`--help`"
_SERVERS: Final = "Command line error: argument --bootstrap-server: expected HOST:PORT,..., got "


def _unrecognized(word: str) -> Outcome:
    return Outcome(1, err=f"Command line error: unrecognized arguments: '{word}'. Type --help for help.")


def _invalid(address: str) -> Difference:
    return Difference(_INVALID, f"--bootstrap-server {address} describe", _NO_CLIENT, Outcome(1, err=_SERVERS))


def _help(arguments: str, usage: str) -> Difference:
    return Difference(
        _HELP,
        arguments,
        Outcome(0, f"usage: kafka-features {usage}[-h]"),
        Outcome(0, f"Usage: streams-assignor features {usage}[OPTIONS]"),
    )


DIFFERENCES: Final = (
    Difference(
        _ADDRESS,
        "describe --bootstrap-server 127.0.0.1:1",
        _unrecognized("--bootstrap-server"),
        Outcome(1, err="127.0.0.1:1: "),
    ),
    Difference(
        _ADDRESS,
        "describe --command-config none",
        _unrecognized("--command-config"),
        Outcome(1, err="--command-config none: expected a file of settings; "),
    ),
    *map(_invalid, ("''", "nonsense", "localhost", "localhost:", "localhost:x", "localhost:99999", "'a b:1'")),
    Difference(
        "an unknown host",
        "--bootstrap-server no.such.host.invalid:1 describe",
        _NO_CLIENT,
        Outcome(1, err="no.such.host.invalid:1: "),
    ),
    Difference(
        _EMPTY,
        "--bootstrap-server 127.0.0.1:1,, describe",
        Outcome(1, err="Configuration 'bootstrap.servers' values must not be empty.\n"),
        Outcome(1, err="127.0.0.1:1: "),
    ),
    Difference(
        _FILE,
        "--bootstrap-server 127.0.0.1:1 --command-config /none/x describe",
        Outcome(1, err="/none/x\n"),
        Outcome(1, err="--command-config /none/x: expected a file of settings; No such file or directory\n"),
    ),
    Difference(
        _FILE,
        "--bootstrap-server 127.0.0.1:1 --command-config / describe",
        Outcome(1, err="Is a directory\n"),
        Outcome(1, err="--command-config /: expected a file of settings; Is a directory\n"),
    ),
    Difference(
        "no node answers",
        "--bootstrap-server 127.0.0.1:1 --command-config FILE describe",
        Outcome(1, err="org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment."),
        Outcome(1, err="127.0.0.1:1: "),
    ),
    Difference(
        "`--feature metadata.version=`",
        "feature-dependencies --feature metadata.version=4.0",
        Outcome(1, err="Can't parse feature=level string metadata.version=4.0: unable to parse 4.0 as a short.\n"),
        Outcome(0, "metadata.version=25 (4.0-IV3) has no dependencies.\n"),
    ),
    Difference(
        _NUMBER, "version-mapping --release-version 25", Outcome(1, err="Unknown metadata.version '25'."), _MAPPING
    ),
    Difference(_ADDITIONAL, "version-mapping --json", _unrecognized("--json"), Outcome(0, "{\n")),
    Difference(_ADDITIONAL, "version-mapping -o yaml", _unrecognized("-o"), Outcome(0, "release: ")),
    Difference(_ADDITIONAL, "--output json version-mapping", _unrecognized("--output"), Outcome(0, "{\n")),
    Difference(_ADDITIONAL, "--json version-mapping", _unrecognized("--json"), Outcome(0, "{\n")),
    Difference(_ADDITIONAL, "version-mapping --timeout 1", _unrecognized("--timeout"), Outcome(0, "metadata.version")),
    *(
        Difference(
            _ADDITIONAL,
            f"--bootstrap-server 127.0.0.1:1 {words}",
            _unrecognized(words.split()[1]),
            Outcome(1, err="127.0.0.1:1: "),
        )
        for words in ("upgrade --all", "downgrade --all", "disable --yes --feature a")
    ),
    *(_help(words, "") for words in ("--help", "-h", "--he", "-hx", "--help nope")),
    *(_help(f"{words}", "version-mapping ") for words in ("version-mapping --help", "vers -h --nope")),
    *(
        _help(f"{name} --help", f"{name} ")
        for name in ("describe", "upgrade", "downgrade", "disable", "feature-dependencies")
    ),
)

NOT_COMPARED: Final = {
    "a node that does not exist (`describe --node-id 9`)": "Kafka's tool never returns",
    "`--unsafe`": "compared with --yes, on a cluster",
}
"""The other rows of the guide, and why no command line here shows them."""
