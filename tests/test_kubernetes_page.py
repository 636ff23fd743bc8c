"""The manifests of docs/how-to/kubernetes.md: valid for the API server, with the relations that the page demands."""

from pathlib import Path

import pytest

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="has the schemas of Kubernetes; extra `test`")
yaml = pytest.importorskip("yaml", reason="comes with kubernetes-validate")

FOLDER = Path(__file__).parents[1] / "docs/how-to/kubernetes"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
SESSION_TIMEOUT = 45
"""Seconds: the default of session.timeout.ms from Kafka 3.0 on."""
OLDEST_KUBERNETES = "1.28"
each_file = pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)


def workload(path):
    documents = yaml.safe_load_all(path.read_text())
    return next(each for each in documents if each["kind"] in ("Deployment", "StatefulSet"))


def container(path):
    return workload(path)["spec"]["template"]["spec"]["containers"][0]


def test_there_is_a_manifest_of_both_kinds():
    assert {"Deployment", "StatefulSet"} == {workload(path)["kind"] for path in MANIFESTS}


@each_file
@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, kubernetes_validate.latest_version()])
def test_the_api_server_accepts_every_document(path, version):
    for document in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(document, version, strict=True)


def test_a_misspelt_field_is_rejected():
    document = workload(MANIFESTS[0])
    document["spec"]["minReadySecond"] = document["spec"].pop("minReadySeconds")

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, OLDEST_KUBERNETES, strict=True)


@each_file
def test_labels_select_the_pods(path):
    spec = workload(path)["spec"]

    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


@each_file
def test_the_grace_period_is_shorter_than_the_session_timeout(path):
    assert workload(path)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] < SESSION_TIMEOUT


@each_file
def test_a_bounce_pauses_longer_than_the_session_timeout(path):
    assert workload(path)["spec"]["minReadySeconds"] > SESSION_TIMEOUT


@each_file
def test_upgrade_from_is_part_of_the_template(path):
    assert "UPGRADE_FROM" in [each["name"] for each in container(path)["env"]]


@each_file
def test_liveness_does_not_ask_what_readiness_asks(path):
    # A member that restores state is alive and not ready; killed for that, it would start over.
    assert container(path)["livenessProbe"]["httpGet"]["path"] != container(path)["readinessProbe"]["httpGet"]["path"]


def test_instance_ids_are_names_of_pods_where_these_stay():
    ids = {
        workload(path)["kind"]: [each.get("valueFrom") for each in container(path)["env"] if "INSTANCE" in each["name"]]
        for path in MANIFESTS
    }

    assert {"Deployment": [], "StatefulSet": [{"fieldRef": {"fieldPath": "metadata.name"}}]} == ids
