"""The template of a page: one file of HTML, whose values are escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


def page_template(package: str) -> Template:
    """Return ``templates/report.html.j2`` of a package; an undefined value is an error, and JSON keeps its order."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {}
    return environment.get_template("report.html.j2")
