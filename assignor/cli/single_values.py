"""Commands that refuse an option given twice: click would take the last one without a word."""

from __future__ import annotations

from collections import defaultdict

import click


class _SingleValues(click.Command):
    """A command whose options are given once, unless they take several values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a second value of an option, and options that exclude each other, before all else."""
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            self._require_one_of_each(ctx, given)
        return super().parse_args(ctx, args)

    def _require_one_of_each(self, ctx: click.Context, given: list[click.Parameter]) -> None:
        by_name: defaultdict[str | None, list[click.Option]] = defaultdict(list)
        for option in given:
            if isinstance(option, click.Option) and not (option.multiple or option.count):
                by_name[option.name].append(option)
        for options in by_name.values():
            if len(options) > 1 and not (len({*options}) == 1 and options[0].is_flag):  # the same flag says the same
                names = " or ".join(dict.fromkeys(max(option.opts, key=len) for option in options))
                raise click.UsageError(f"expected {names} once, got {len(options)} times", ctx)


class StrictCommand(_SingleValues):
    """A command of its own."""


class CommandGroup(_SingleValues, click.Group):
    """A group of commands."""

    command_class = StrictCommand
