"""The options of ``roll``, as given, and the cluster that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from attrs import field, frozen

from streams_assignor.cli.group.what_if import read_config, session_timeout_of
from streams_assignor.cli.roll.commands import CommandTemplate
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import Release, resolve_release
from streams_assignor.upgrade.roll.plan import (
    BY_HAND,
    RESTART,
    START,
    STOP,
    RollLimits,
)

if TYPE_CHECKING:
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

PERSISTENT, EPHEMERAL = "persistent", "ephemeral"
"""Whether an instance that starts finds its state stores."""
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.-]+")


@frozen(kw_only=True)
class RollOptions:
    """The options of the command line."""

    group: str
    target: str
    level_unchanged: bool
    origin: str | None
    restart: str | None
    stop: str | None
    start: str | None
    by_hand: bool
    instances_file: Path | None
    batch: int
    canary: str | None
    leader: str | None
    offline: bool
    without: str | None
    max_unowned: float
    max_lag: int | None
    timeout: float
    session_timeout: float | None
    soak: float | None
    ready: str | None
    interval: float
    settings_file: Path | None
    state: str | None
    no_forecast: bool
    yes: bool
    accept_no_way_back: bool
    answer: str | None
    back: bool
    journal_path: Path | None
    report_path: Path | None
    no_lock: bool
    dry_run: bool
    as_json: bool
    assume: str | None

    def commands(self) -> tuple[Mapping[str, CommandTemplate], tuple[str, ...]]:
        """Return the templates by verb, and the verbs of a restart; wrong usage if they do not fit together."""
        texts = {RESTART: self.restart, STOP: self.stop, START: self.start}
        given = {verb: text for verb, text in texts.items() if text is not None}
        fits = (*given,) in {(RESTART,), (STOP, START)} and not self.by_hand
        only_shown = self.dry_run and not given
        if not (fits or only_shown or (self.by_hand and not given)):
            raise click.UsageError("expected --restart, or --stop and --start, or --by-hand")
        try:
            templates = {verb: CommandTemplate.parse(text) for verb, text in given.items()}
        except UpgradeError as error:
            raise click.UsageError(str(error)) from error
        return templates, tuple(given) or (BY_HAND,)

    def probe(self) -> CommandTemplate | None:
        """Return the template of ``--ready``; wrong usage if it is none."""
        try:
            return None if self.ready is None else CommandTemplate.parse(self.ready)
        except UpgradeError as error:
            raise click.UsageError(str(error)) from error

    def check_releases(self) -> None:
        """Refuse names that are no releases, before anything is looked at."""
        for option, name in {"--to": self.target, "--from": self.origin}.items():
            try:
                if name is not None:
                    resolve_release(name, self.assume)
            except UpgradeError as error:
                raise click.BadParameter(str(error), param_hint=option) from error

    @property
    def session_timeout_s(self) -> float | None:
        """The session timeout of the members, as far as it was given."""
        return session_timeout_of(self.session_timeout, self.settings_file)

    @property
    def limits(self) -> RollLimits:
        """How long is waited, and for what."""
        return self.limits_after(RollLimits())

    def limits_after(self, begun: RollLimits) -> RollLimits:
        """Return the limits of a roll that is continued: session and lag stay those of before if nothing names them."""
        session_s = self.session_timeout_s or begun.session_timeout_s
        file = self.settings_file
        max_lag = read_config(file).acceptable_recovery_lag if file else begun.max_lag
        return RollLimits(
            timeout_s=self.timeout,
            max_unowned_s=self.max_unowned,
            max_lag=max_lag if self.max_lag is None else self.max_lag,
            session_timeout_s=session_s,
            soak_s=session_s if self.soak is None else self.soak,
        )

    @property
    def journal(self) -> Path:
        """The file of the journal."""
        names = (_NOT_IN_A_NAME.sub("_", name) for name in (self.group, self.target))
        return self.journal_path or Path(f"{'-to-'.join(names)}.roll.jsonl")


@frozen
class LiveTarget:
    """The cluster of a roll."""

    servers: str
    config: CommandConfig = field(repr=False)
    lookup: GroupLookup
    assume: Release | None
