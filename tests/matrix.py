"""Parameters of which some run by default and all with ``-m matrix``, and so in the nightly run."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def with_matrix(values: Iterable[Any], usual: Collection[Any], reason: str) -> list[Any]:
    """The values, those that are not `usual` with the marker ``matrix`` and the reason why they may wait."""
    matrix = pytest.mark.matrix(reason=reason)
    return [
        value if value in usual else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=matrix)
        for value in values
    ]
