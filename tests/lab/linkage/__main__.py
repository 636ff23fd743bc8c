"""``python -m tests.lab.linkage``: scan published libraries, and ask Java about each reference and constructor."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.linkage.scan import ARTIFACTS, TARGETS, scan

RESULTS = Path(__file__).parent / "results.json"


@click.command
@click.option("--only", default="", help="Artifacts whose coordinates contain this text.")
@click.option("--target", "targets", multiple=True, default=TARGETS, show_default=True, help="A release to go to.")
@click.option("--write", is_flag=True, help="Store the results beside this command.")
def main(only: str, targets: tuple[str, ...], *, write: bool) -> None:
    """Compare what --app reports of published libraries with Java's linker. Status 1 if they differ, 2 without jars."""
    chosen = [each for each in ARTIFACTS if only in each]
    results = [found for target in targets for found in scan(chosen, target)]
    for each in results:
        click.echo(
            f"{each['artifact']} on {each['target']}: {each['references']} references, {each['reported']} reported, "
            f"{' '.join(f'{count} {name}' for name, count in each['constructors'].items())} of constructors, "
            f"{len(each['differences'])} differ"
        )
        for text in each["differences"]:
            click.echo(f"  {text}")
    if write:
        lines = ",\n".join(json.dumps(each) for each in results)
        RESULTS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    sys.exit(1 if any(each["differences"] for each in results) else 0)


if __name__ == "__main__":
    try:
        main(standalone_mode=True)
    except Unavailable as missing:
        click.echo(f"error: {missing}", err=True)
        sys.exit(2)
