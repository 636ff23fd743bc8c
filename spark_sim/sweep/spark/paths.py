"""Paths and URIs. Hadoop's ``Path`` takes a text as it is, so ``as_uri``, which escapes, names another folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_GLOB: Final = re.compile(r"[\\{}\[\]*?]")
_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]+:/")


def is_uri(location: str) -> bool:
    """Whether a location is a URI and not a local path. Hadoop needs no second slash.

    >>> is_uri("s3://bucket/path"), is_uri("hdfs:/path"), is_uri("/data/path"), is_uri("C:/data")
    (True, True, False, False)
    """
    return _SCHEME.match(location) is not None


def local_folder(out: str | Path) -> Path | None:
    """Return the local folder of a path or URI; None if it is elsewhere.

    >>> local_folder("file:///tmp/x"), local_folder("s3a://bucket/x"), local_folder("hdfs:/x")
    (PosixPath('/tmp/x'), None, None)
    """
    if isinstance(out, Path) or not is_uri(out):
        return Path(out)
    parts = urlsplit(out)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def folder_uri(folder: Path) -> str:
    """Return the URI under which Spark writes into a local folder.

    >>> folder_uri(Path("/data/my sweeps[1]"))
    'file:///data/my sweeps[1]'
    """
    return f"file://{folder.absolute()}"


def to_read(uri: str) -> str:
    r"""Return the path that Spark reads at a URI: to read, it takes a path for a pattern.

    >>> print(to_read("file:///data/my sweeps[1]"))
    file:///data/my sweeps\[1\]
    """
    return _GLOB.sub(r"\\\g<0>", uri)
