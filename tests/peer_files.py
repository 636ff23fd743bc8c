"""Beside real peers only the files that name their markers are imported: nine of ten have no such test."""

from pathlib import Path

import pytest

_CHOSEN = "(java or broker)"
_NAMES = (b"mark.java", b"mark.broker")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_needless = config.option.markexpr.startswith(_CHOSEN) and collection_path.suffix == ".py"
    return True if is_needless and not names_peers(collection_path) else None


def names_peers(path: Path) -> bool:
    content = path.read_bytes()
    return any(name in content for name in _NAMES)


def require_names(items: list[pytest.Item]) -> None:
    """Refuse a test of a real peer whose file does not name the marker: it would not be found beside the peers."""
    files = {item.path: item for item in items if item.get_closest_marker("java") or item.get_closest_marker("broker")}
    for path, item in files.items():
        if not names_peers(path):
            raise pytest.UsageError(f"{item.nodeid}: expected mark.java or mark.broker in its file, found neither")
