"""Sphinx; `tox -e docs` builds with every warning an error."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tables import for_the_site

project = "streams-assignor"
author = "the streams-assignor contributors"
copyright = author  # noqa: A001 - the name that Sphinx reads
release = metadata.version("streams-assignor")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
exclude_patterns = ["_build", "changelog.d", "upstream"]

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]

smartquotes = False  # a tenth of the time of a build
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]  # the fence that code hosts draw too

# Pages are built from the signatures alone, so that building them needs neither a broker's client nor Spark.
autodoc_mock_imports = [
    "aiokafka",
    "confluent_kafka",
    "kafka",
    "opentelemetry",
    "prometheus_client",
    "pyspark",
]
autodoc_member_order = "bysource"
autodoc_typehints = "description"


def setup(app):
    """Print the tables that are on the site only, and the dates of runs."""
    app.connect("source-read", lambda _app, page, source: source.append(for_the_site(source.pop(), page)))
