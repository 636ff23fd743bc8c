"""The versions of all dependencies that the tests ran with: ``tested.txt``, a constraints file for pip.

``python -m tests.lab.packaging.lock`` writes those of the environment it runs in (``tox -e lock``).
"""

from __future__ import annotations

from collections.abc import Iterator
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[3]
TESTED: Final = Path(__file__).parent / "tested.txt"
PROJECT: Final = "streams-assignor"
NOT_TESTED: Final = frozenset({"ansible", "bench", "docs", "lint", "stores"})
"""Extras for the work on the project: the environment ``tests`` does not have them."""
_HEAD: Final = """\
# The dependencies that the tests ran with: pip install -c tests/lab/packaging/tested.txt '.[all]'
# Written by python -m tests.lab.packaging.lock.
"""


def direct_requirements() -> list[Requirement]:
    """List what setup.cfg requires, with its extras except ``NOT_TESTED``."""
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")
    texts = [configuration["options"]["install_requires"]]
    extras = configuration["options.extras_require"]
    texts += [value for name, value in extras.items() if name not in NOT_TESTED]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return [each for each in found if each.name != PROJECT]


def installed_versions() -> dict[str, str]:
    """Return the version of each dependency, and of what these depend on, in this environment.

    Raises:
        PackageNotFoundError: A direct dependency is not installed.
    """
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = direct_requirements()
    direct = {canonicalize_name(each.name) for each in waiting}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        try:
            known = distribution(name)
        except PackageNotFoundError:
            if name in direct:
                raise
            continue
        found[name] = known.version
        asked = (name, frozenset(requirement.extras))
        if asked not in seen:
            seen.add(asked)
            waiting += _needed(known.requires or [], requirement.extras)
    return dict(sorted(found.items()))


def _needed(texts: list[str], extras: set[str]) -> Iterator[Requirement]:
    """Choose the requirements that hold here, with the extras that are asked for."""
    for requirement in map(Requirement, texts):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield requirement


def read_lock() -> dict[str, str]:
    """Read ``tested.txt``."""
    lines = [line for line in TESTED.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("==", 1) for line in lines)


def main() -> None:
    """Write ``tested.txt``."""
    pins = [f"{name}=={version}\n" for name, version in installed_versions().items()]
    TESTED.write_text(_HEAD + "".join(pins))
    print(f"{TESTED.relative_to(ROOT)}: {len(pins)} versions")


if __name__ == "__main__":
    main()
