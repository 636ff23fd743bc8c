"""What else a service has in its environment can be resolved beside this distribution."""

import shutil
import subprocess

import pytest

from tests.lab.packaging.smoke import ROOT

pytestmark = pytest.mark.matrix(reason="it asks the package index")


@pytest.mark.parametrize("extra", ["", "[confluent]"])
@pytest.mark.parametrize(
    "other", ["quixstreams>=3", "faust-streaming>=0.11", "dbt-core>=1.10", "apache-airflow>=3"], ids=lambda text: text
)
def test_it_is_resolved_beside(other, extra):
    uv = shutil.which("uv")
    assert uv, "tox -e nightly has uv"

    done = subprocess.run(
        [uv, "pip", "compile", "--quiet", "--python-version", "3.12", "-"],
        input=f"{other}\nstreams-assignor{extra} @ file://{ROOT}\n",
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
