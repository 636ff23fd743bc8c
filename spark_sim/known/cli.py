"""What ``streams-assignor sweep --matrix history`` does; called by ``spark_sim.cli``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from spark_sim.known.finding import Found
from spark_sim.known.history import HISTORY_FILE, history, write
from spark_sim.results import ResultsError
from spark_sim.screen import style_of


def sweep_history(out: Path, *, as_json: bool) -> bool:
    """Search for each of Kafka's known bugs where it was and where it was no more; say if all is as it was.

    ``ResultsError`` or ``OSError`` for a folder that cannot be had.
    """
    if out.exists() and not out.is_dir():
        raise ResultsError(f"{out} is a file; --out wants a folder")
    if out.is_dir() and {path.name for path in out.iterdir()} - {HISTORY_FILE}:
        raise ResultsError(f"{out} holds something else: take another --out")
    out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=as_json, highlight=False)

    def show(found: Found) -> None:
        style = "green" if found.as_expected else "bold red"
        said = found.said or "nothing, in every schedule"
        console.print(Text.assemble((f"{found.search}: ", "bold"), (said, style)), soft_wrap=True)
        if found.example:
            console.print(Text(f'  streams-assignor replay "{found.example}"', "dim"), soft_wrap=True)

    results = history(on_found=show)
    file = write(results, out)
    if as_json:
        click.echo(file.read_text(encoding="utf-8"), nl=False)
    unexpected = [str(each.search) for each in results if not each.as_expected]
    good = not unexpected
    verdict = "every bug found where it was, and nowhere else" if good else f"not as it was: {', '.join(unexpected)}"
    console.print(Text(f"{len(results)} searches; {verdict}", style_of(good)), soft_wrap=True)
    console.print(f"Results in {file}", soft_wrap=True)
    return good
