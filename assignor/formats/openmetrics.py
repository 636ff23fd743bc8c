"""The text format of OpenMetrics 1.0, which Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Gauge(NamedTuple):
    """A metric and its samples."""

    name: str
    help: str
    samples: list[tuple[Mapping[str, str], float]]
    """The labels and the value of each sample."""


def exposition(gauges: Iterable[Gauge]) -> str:
    r"""Write metrics; those without samples are left out.

    >>> print(exposition([Gauge("lag", "Records.", [({"topic": 'a"b'}, 7)])]), end="")
    # TYPE lag gauge
    # HELP lag Records.
    lag{topic="a\"b"} 7
    # EOF
    """
    lines = []
    for gauge in gauges:
        if gauge.samples:
            lines += [f"# TYPE {gauge.name} gauge", f"# HELP {gauge.name} {gauge.help.translate(_ESCAPES)}"]
            lines += [f"{gauge.name}{_labels(labels)} {value}" for labels, value in gauge.samples]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    pairs = (f'{name}="{_valid(value).translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{','.join(pairs)}}}" if labels else ""


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
