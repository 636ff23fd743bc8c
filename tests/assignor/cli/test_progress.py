"""A command that takes long says on standard error what it is doing."""

import sys
from threading import Event

import click
import pytest

from streams_assignor.cli import lazy_group
from streams_assignor.cli.lazy_group import LazyCommand, LazyGroup
from streams_assignor.cli.main import COMMANDS
from streams_assignor.formats import progress
from streams_assignor.formats.jsonl import stdin_lines
from streams_assignor.formats.progress import shown_steps, step

SHOW_THEMSELVES = {"bounce", "member", "roll"}


class Stderr:
    """Standard error that calls a function with each line."""

    def __init__(self, take):
        self.take = take

    def write(self, text):
        if text.strip():
            self.take(text)

    def flush(self):
        pass


def run_steps(monkeypatch, texts, take):
    """Run with these steps, one at a time, of which each becomes due."""
    given, done = iter(texts), Event()
    monkeypatch.setattr(sys, "stderr", Stderr(take))
    monkeypatch.setattr(progress, "FIRST_SECONDS", 10.0)

    def wait(ended, _seconds):
        text = next(given, None)
        if text is None:
            done.set()
            return ended.wait(60)
        step(text)
        return False

    with shown_steps(wait):
        assert done.wait(60)


def test_a_step_is_printed_after_ten_seconds_and_then_more_and_more_rarely(monkeypatch):
    lines = []
    run_steps(monkeypatch, ["reading", "reading", "", "writing \x1b[31m", "writing", "writing"], lines.append)

    assert lines == [
        "reading (10 s)",
        "reading (20 s)",
        r"writing \x1b[31m (80 s)",
        "writing (140 s)",
        "writing (200 s)",
    ]


def test_a_closed_standard_error_ends_nothing(monkeypatch):
    refused = []

    def refuse(line):
        refused.append(line)
        raise ValueError("I/O operation on closed file")

    run_steps(monkeypatch, ["reading", "reading"], refuse)

    assert len(refused) == 2


def test_nothing_is_a_step_after_the_command():
    with shown_steps():
        step("reading")

    assert not progress._Step.text


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_a_step_from_its_beginning_unless_it_shows_itself(monkeypatch, name):
    seen = []

    def load(_name):
        seen.append(progress._Step.text)
        return click.Command(name, callback=lambda: None)

    monkeypatch.setattr(lazy_group, "resolve_name", load)
    cli = LazyGroup(lazy_commands={name: COMMANDS[name]})
    cli.main([name], standalone_mode=False)

    assert seen == ["" if name in SHOW_THEMSELVES else f"{name}: at work"]


def test_a_command_prints_its_step_while_it_runs(monkeypatch):
    printed = Event()
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", Stderr(lambda line: printed.set() if line.startswith("asking") else None))

    def run():
        click.get_current_context().meta[progress.STEP]("asking")
        assert printed.wait(60)

    monkeypatch.setattr(lazy_group, "resolve_name", lambda _name: click.Command("slow", callback=run))
    cli = LazyGroup(lazy_commands={"slow": LazyCommand("", "")})
    cli.main(["slow"], standalone_mode=False)


def test_waiting_for_standard_input_is_no_step(monkeypatch):
    seen = []

    class Input:
        def readline(self, _limit):
            seen.append(progress._Step.text)
            return "" if len(seen) > 1 else "line\n"

    monkeypatch.setattr(sys, "stdin", Input())
    step("at work")
    for _ in stdin_lines():
        step("converting")

    assert seen == ["", ""]


def test_a_command_runs_where_no_thread_can_start(monkeypatch):
    def fails(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(progress.Thread, "start", fails)
    with progress.shown_steps():
        progress.step("at work")

    assert "" == progress._Step.text
