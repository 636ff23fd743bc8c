"""The documentation with the web page in it, by the commands of ``tox -e site``."""

import re
import shlex
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from streams_assignor.web.build import read_site
from tests.assignor.web.packages import LOCK, fetched
from tests.lab.packaging.smoke import ROOT

pytestmark = pytest.mark.slow

OUT = "docs/_build/html"


def test_the_documentation_contains_the_page_and_links_to_it(tmp_path):
    pytest.importorskip("sphinx", reason="needs the documentation's tools: pip install -e '.[docs]'")
    fetched(LOCK)
    configuration = ConfigParser(interpolation=None)
    configuration.read(ROOT / "setup.cfg")
    for line in configuration["testenv:site"]["commands"].strip().splitlines():
        program, *arguments = shlex.split(line.replace(OUT, str(tmp_path)))
        command = [str(Path(sys.executable).with_name(program)), *arguments]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    how_to = tmp_path / "how-to" / "web.html"
    (link,) = re.findall(r'href="([^"]*page/index.html)"', how_to.read_text())

    assert (tmp_path / "page" / "index.html") == (how_to.parent / link).resolve()
    assert "index.html" in read_site(tmp_path / "page")
