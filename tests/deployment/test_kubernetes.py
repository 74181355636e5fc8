"""The manifests of deploy/kubernetes: Kubernetes' schema accepts them, and what they name exists."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from pipeline_backend.web.__main__ import command
from tests.commands.test_settings import SETTINGS
from tests.deployment.files import ROOT, compose, new_env

FOLDER = ROOT / "deploy/kubernetes"
OLDEST_VERSION = "1.30"  # of Kubernetes


def objects() -> list[dict[str, Any]]:
    files = sorted(FOLDER.glob("*.yaml"))
    return [parsed for file in files for parsed in yaml.safe_load_all(file.read_text())]


def find(kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in objects() if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


PODS = {
    each["metadata"]["name"].removeprefix("pipeline-"): each["spec"]["template"]["spec"]
    for each in objects()
    if "template" in each.get("spec", {})
}


@pytest.mark.parametrize("version", [OLDEST_VERSION, kubernetes_validate.latest_version()])
def test_the_schema_of_kubernetes_accepts_every_object(version: str) -> None:
    for each in objects():
        kubernetes_validate.validate(each, version, strict=True)  # raises


def test_processes_have_the_image_and_the_commands_of_compose(tmp_path: Path) -> None:
    services = compose(new_env(tmp_path))["services"]

    assert {name: pod["containers"][0]["command"] for name, pod in PODS.items()} == {
        name: services[name]["command"] for name in ("migrate", "web", "worker")
    }
    assert {pod["containers"][0]["image"] for pod in PODS.values()} == {services["web"]["image"]}


def test_settings_exist_and_their_files_are_those_of_the_documented_secret() -> None:
    settings = find("ConfigMap", "pipeline-settings")["data"]
    page = (ROOT / "docs/kubernetes.md").read_text()
    secrets = set(re.findall(r"--from-literal=([\w-]+)=", page))
    files = {name: Path(value) for name, value in settings.items() if name.endswith("_FILE")}

    assert {name.removesuffix("_FILE") for name in settings} <= SETTINGS.keys()
    assert {path.name for path in files.values()} == secrets
    assert {path.name: name for name, path in files.items()} == {
        path.name: f"{path.name.replace('-', '_').upper()}_FILE" for path in files.values()
    }
    for pod in PODS.values():
        (mount,) = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "secrets"]
        assert {str(path.parent) for path in files.values()} == {mount["mountPath"]}


def test_pods_have_no_rights_and_end_after_their_requests() -> None:
    settings = find("ConfigMap", "pipeline-settings")["data"]
    (kill_seconds,) = [int(option.partition("=")[2]) for option in command([], 0) if "workers-kill" in option]
    dockerfile = (ROOT / "Dockerfile").read_text()

    for pod in PODS.values():
        (container,) = pod["containers"]
        assert f"USER {pod['securityContext']['runAsUser']}\n" in dockerfile
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["readOnlyRootFilesystem"]
    assert int(settings["DRAIN_SECONDS"]) + 30 <= kill_seconds < PODS["web"]["terminationGracePeriodSeconds"]


def test_the_memory_that_is_requested_is_more_than_was_measured() -> None:
    sizing = (ROOT / "docs/operate.md").read_text().partition("\n## Sizing\n")[2]

    for name in ("web", "worker"):
        row = re.search(rf"^\| {name} \|(.*)\|$", sizing, re.MULTILINE)
        assert row is not None
        measured = int(row[1].split("|")[3].split()[0])  # of one process, after the load
        resources = PODS[name]["containers"][0]["resources"]
        requested, limit = (int(resources[key]["memory"].removesuffix("Mi")) for key in ("requests", "limits"))
        assert measured < requested * 1.048 < measured * 1.5  # the page has megabytes
        assert limit > 2 * measured


def test_the_ingress_leads_to_the_web_servers() -> None:
    service, web = find("Service", "pipeline-web"), find("Deployment", "pipeline-web")
    (rule,) = find("Ingress", "pipeline")["spec"]["rules"]
    settings = find("ConfigMap", "pipeline-settings")["data"]

    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "pipeline-web", "port": {"name": "http"}}
    assert service["spec"]["selector"] == web["spec"]["template"]["metadata"]["labels"]
    assert rule["host"] in settings["ALLOWED_HOSTS"].split(",")
    assert settings["BASE_URL"] == f"https://{rule['host']}"
