"""The template of a page: one file of HTML, whose values are escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jinja2 import Template

_CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
"""A page loads nothing and sends nothing, whatever its data has become part of."""


def page_template(package: str) -> Template:
    """Return ``templates/report.html.j2`` of a package; an undefined value is an error, and JSON keeps its order."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["content_security_policy"] = _CONTENT_SECURITY_POLICY
    environment.policies["json.dumps_kwargs"] = {}
    return environment.get_template("report.html.j2")
