"""Who answers the questions of a roll: options, or somebody at a terminal."""

from __future__ import annotations

import sys

import click

from streams_assignor.cli.roll._driver import Decided, Interrupts, RollView
from streams_assignor.cli.roll._lock import user_name
from streams_assignor.cli.roll._options import RollOptions
from streams_assignor.cli.roll.output import question_lines
from streams_assignor.upgrade.roll.deviations import SafeOption
from streams_assignor.upgrade.roll.engine import AskOperator
from streams_assignor.upgrade.roll.state import ABOUT_DEVIATION, ABOUT_ORIGIN, ABOUT_PLAN, ABOUT_WAY_BACK, RollState


def by_option(option: str) -> str:
    """Name who has given an option."""
    return f"{option}, {user_name()}"


class RollAnswers:
    """Answers questions: by options, or by asking at a terminal."""

    def __init__(self, options: RollOptions, view: RollView, interrupts: Interrupts) -> None:
        self._options = options
        self._interrupts = interrupts
        self._view = view
        self._answer = SafeOption(options.answer) if options.answer else None

    def ask(self, question: AskOperator, state: RollState) -> Decided | None:
        """Return the answer; None if nobody can give it now."""
        options = self._options
        if question.about == ABOUT_PLAN and (options.yes or options.back):
            return Decided(SafeOption.CONTINUE, by_option("--yes"))
        if question.about == ABOUT_WAY_BACK and options.accept_no_way_back:
            return Decided(SafeOption.CONTINUE, by_option("--accept-no-way-back"))
        # Nobody has seen a deviation of this run: the same command, called again, must not go on past it.
        is_unseen = question.about == ABOUT_DEVIATION and self._answer is SafeOption.CONTINUE
        if question.about not in (ABOUT_PLAN, ABOUT_WAY_BACK) and self._answer in question.options and not is_unseen:
            answer, self._answer = self._answer, None
            return Decided(answer, by_option("--answer"))
        if question.about not in (ABOUT_PLAN, ABOUT_WAY_BACK, ABOUT_ORIGIN) and self._answer and not is_unseen:
            offered = ", ".join(option.value for option in question.options)
            raise click.BadParameter(f"expected one of {offered}, got {self._answer.value}", param_hint="--answer")
        for line in question_lines(question, state):
            self._view.note(line)
        if not sys.stdin.isatty() or options.as_json:
            return None
        choices = click.Choice([option.value for option in question.options])
        try:
            with self._interrupts.at_once():
                typed = click.prompt("decision", type=choices, err=True)
        except (click.Abort, KeyboardInterrupt, OSError):  # a signal, the end of the input, or no terminal
            self._view.note("")  # the line of the question ends
            return None
        return Decided(SafeOption(typed), by_option("at the terminal"))
