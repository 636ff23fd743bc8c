"""The manifests of docs/how-to/kubernetes.md: valid for the API server, with the relations that the page demands."""

import os
import subprocess
from pathlib import Path

import pytest

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="has the schemas of Kubernetes; extra `test`")
yaml = pytest.importorskip("yaml", reason="comes with kubernetes-validate")

FOLDER = Path(__file__).parents[1] / "docs/how-to/kubernetes"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
SESSION_TIMEOUT = 45
"""Seconds: the default of session.timeout.ms from Kafka 3.0 on."""
OLDEST_KUBERNETES = "1.28"
KINDS = ("Deployment", "StatefulSet")
WORKLOADS = [path for path in MANIFESTS if any(f"kind: {kind}\n" in path.read_text() for kind in KINDS)]
each_manifest = pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
each_file = pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.name)
# Instead of kubectl: it writes its arguments, each followed by a line with a dot, and answers with a number.
KUBECTL = """\
#!/bin/sh
for argument; do printf '%s\\n.\\n' "$argument"; done >> "$CALLS"
printf 'end\\n.\\n' >> "$CALLS"
echo 7
"""


def workload(path):
    documents = yaml.safe_load_all(path.read_text())
    return next(each for each in documents if each["kind"] in KINDS)


def container(path):
    return workload(path)["spec"]["template"]["spec"]["containers"][0]


def test_there_is_a_manifest_of_both_kinds():
    assert set(KINDS) == {workload(path)["kind"] for path in WORKLOADS}


@pytest.mark.unmeasured
@each_manifest
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
        path.name: [each.get("valueFrom") for each in container(path)["env"] if "INSTANCE" in each["name"]]
        for path in WORKLOADS
    }
    of_pods = [{"fieldRef": {"fieldPath": "metadata.name"}}]

    assert {"deployment.yaml": [], "roll-deployment.yaml": [], "statefulset.yaml": of_pods} == ids


# -- `roll` ----------------------------------------------------------------------------------------------------------


def manifest(name):
    return FOLDER / f"{name}.yaml"


def calls_of(script, folder, *arguments):
    """Run a restart script, and return the arguments of each call of kubectl."""
    kubectl, calls = folder / "kubectl", folder / "calls"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls)}
    done = subprocess.run(
        [FOLDER / script, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert 0 == done.returncode, done.stderr
    written = calls.read_text().split("\n.\n")[:-1]
    ends = [at for at, argument in enumerate(written) if argument == "end"]
    return [written[start:end] for start, end in zip([0, *(at + 1 for at in ends)], ends, strict=False)]


def patched(document, patch):
    """A manifest after a strategic merge patch: lists of containers and of variables are merged by name."""
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(document.get(key), dict):
            patched(document[key], value)
        elif isinstance(value, list) and isinstance(document.get(key), list):
            names = {item["name"]: item for item in document[key]}
            for item in value:
                patched(names[item["name"]], item)  # a name that the manifest lacks would be another container
        else:
            document[key] = value
    return document


RESTARTS = pytest.mark.parametrize(
    ("script", "name", "instance"),
    [("restart-pod.sh", "statefulset", "billing-0"), ("restart-deployment.sh", "roll-deployment", "billing-a")],
)


@RESTARTS
@pytest.mark.parametrize("upgrade_from", ["2.8", ""])
def test_a_restart_changes_image_and_upgrade_from_in_one_request(script, name, instance, upgrade_from, tmp_path):
    (verb, kind, target, *_, patch), *_ = calls_of(script, tmp_path, instance, "4.3.1", upgrade_from)
    document = workload(manifest(name))

    assert ["patch", document["kind"].lower(), document["metadata"]["name"]] == [verb, kind, target]
    document = patched(document, yaml.safe_load(patch))
    kubernetes_validate.validate(document, OLDEST_KUBERNETES, strict=True)
    (after,) = document["spec"]["template"]["spec"]["containers"]
    variables = {each["name"]: each.get("value") for each in after["env"]}
    assert ("registry.example/billing:2.0.0-kafka-4.3.1", upgrade_from) == (after["image"], variables["UPGRADE_FROM"])
    assert {each["name"] for each in container(manifest(name))["env"]} == set(variables)


def test_a_pod_is_deleted_when_its_stateful_set_has_the_change(tmp_path):
    patch, wait, delete = calls_of("restart-pod.sh", tmp_path, "billing-12", "4.3.1")

    assert {"type": "OnDelete"} == workload(manifest("statefulset"))["spec"]["updateStrategy"]
    assert ["statefulset", "billing"] == patch[1:3] == wait[1:3]
    assert "jsonpath={.status.observedGeneration}=7" in wait
    assert ["delete", "pod", "billing-12"] == delete[:3]


def test_a_deployment_of_one_instance_has_no_second_pod_beside_it():
    spec = workload(manifest("roll-deployment"))["spec"]

    assert (1, {"type": "Recreate"}) == (spec["replicas"], spec["strategy"])


def test_the_role_allows_what_the_scripts_do_and_to_these_objects_only():
    role = yaml.safe_load(manifest("roll-permissions").read_text())
    changes = [rule for rule in role["rules"] if {"patch", "delete"} & set(rule["verbs"])]

    assert {"statefulsets", "deployments", "pods"} == {kind for rule in changes for kind in rule["resources"]}
    assert all(rule["resourceNames"] for rule in changes)
