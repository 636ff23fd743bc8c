"""RocksDB's classes, as each release of Kafka Streams brings them: a ``RocksDBConfigSetter`` is linked with them."""

from __future__ import annotations

from functools import cache
from typing import Final

from streams_assignor.upgrade.application.api_diff import resolve_member
from streams_assignor.upgrade.application.class_file import Reference, ReferenceKind
from streams_assignor.upgrade.application.code import Code, classes_at
from streams_assignor.upgrade.application.dependencies import needed_by
from streams_assignor.upgrade.application.stored import ROCKSDB_CODE, stored_configuration
from streams_assignor.upgrade.releases import RELEASES, Release

ROCKSDB: Final = "org/rocksdb/"
ROCKSDB_ARTIFACT: Final = "rocksdbjni"


def rocksdb_version(release: Release) -> str:
    """Return the RocksDB that a release of Kafka Streams brings.

    Raises:
        NoTable: Kafka has not published the release.

    >>> rocksdb_version(RELEASES["2.8.2"])
    '5.18.4'
    """
    return next(dependency.version for dependency in needed_by(release) if dependency.artifact == ROCKSDB_ARTIFACT)


@cache
def rocksdb_versions() -> tuple[str, ...]:
    """List the versions that some release brings, in the order of the table."""
    return tuple(dict.fromkeys(rocksdb_version(RELEASES[name]) for name in stored_configuration()["releases"]))


def rocksdb_code(release: Release) -> Code:
    """Return RocksDB's classes, as a release of Kafka Streams brings them.

    Raises:
        NoTable: Kafka has not published the release.

    >>> "org/rocksdb/AccessHint" in rocksdb_code(RELEASES["4.0.0"])
    False
    """
    return _code(rocksdb_version(release))


@cache
def _code(version: str) -> Code:
    return classes_at(ROCKSDB_CODE, rocksdb_versions().index(version))


def lacks(code: Code, reference: Reference) -> bool:
    """Whether a reference to a class or member of RocksDB's cannot be resolved.

    >>> lacks(rocksdb_code(RELEASES["4.0.0"]), Reference("org/rocksdb/AccessHint"))
    True
    """
    owner, member = reference.owner, (reference.name, reference.descriptor)
    if owner not in code:
        return True
    if not reference.name or reference.kind is ReferenceKind.LAMBDA:
        return False
    resolved = resolve_member(code, owner, member)
    return not resolved.owner and resolved.is_complete
