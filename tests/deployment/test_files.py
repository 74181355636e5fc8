"""Dockerfile, docker-compose.yml and .env: what they name exists, and what writes .env keeps secrets."""

import os
import platform
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from django.db import connection

from dev.local import processes
from pipeline_backend.web.__main__ import command as web_command
from tests.commands.runner import file_mode
from tests.deployment.files import ROOT, compose, dockerfile, new_env, read_env, write_env
from tests.deployment.server import POSTGRES

SECRETS = ["SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "METRICS_TOKEN"]


def test_env_file_gets_new_secrets_and_is_private(tmp_path: Path) -> None:
    first = write_env(tmp_path)
    values = read_env(tmp_path / ".env")
    (tmp_path / ".env").unlink()
    write_env(tmp_path)

    assert (first.returncode, first.stdout) == (0, "Wrote .env.\n")
    assert file_mode(tmp_path / ".env") == 0o600
    assert values.keys() == read_env(ROOT / ".env.example").keys()
    assert all(len(values[name]) >= 40 and values[name] not in first.stdout for name in SECRETS)
    assert all(values[name] != read_env(tmp_path / ".env")[name] for name in SECRETS)


def test_env_file_of_a_server_has_its_host_name(tmp_path: Path) -> None:
    values = new_env(tmp_path, "pipeline.example.com")

    assert values["SITE_ADDRESS"] == "pipeline.example.com"
    assert values["BASE_URL"] == "https://pipeline.example.com"
    # The health check of the web server's container asks 127.0.0.1.
    assert values["ALLOWED_HOSTS"] == "pipeline.example.com,127.0.0.1"


@pytest.mark.parametrize("arguments", [[], ["--without-containers"]])
def test_env_file_of_a_server_has_no_mail_server_until_the_operator_names_one(
    tmp_path: Path, arguments: list[str]
) -> None:
    written = write_env(tmp_path, "pipeline.example.com", *arguments)
    values = read_env(tmp_path / ".env")

    # An empty value stops the start (tests/commands/test_settings.py).
    assert values["EMAIL_URL"] == ""
    assert values["DEFAULT_FROM_EMAIL"] == "pipeline@pipeline.example.com"
    assert values.get("COMPOSE_PROFILES", "") == ""
    assert written.stdout == "Wrote .env. Set EMAIL_URL in it to your mail server before you start.\n"


def test_env_file_that_exists_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET_KEY=in-use\n")

    result = write_env(tmp_path)

    assert result.returncode == 1
    assert "exists already" in result.stderr
    assert (tmp_path / ".env").read_text() == "SECRET_KEY=in-use\n"


def test_env_file_of_a_server_without_containers_has_the_addresses_of_its_own_services(tmp_path: Path) -> None:
    values = new_env(tmp_path, "pipeline.example.com", "--without-containers")

    assert values.keys() == read_env(ROOT / "deploy/server.env.example").keys()
    assert values["DATABASE_URL"] == f"postgres://pipeline:{values['POSTGRES_PASSWORD']}@127.0.0.1:5432/pipeline"
    assert values["REDIS_URL"] == f"redis://:{values['REDIS_PASSWORD']}@127.0.0.1:6379/0"
    assert values["DEFAULT_FROM_EMAIL"] == "pipeline@pipeline.example.com"
    assert {name for name, value in values.items() if not value} == {"EMAIL_URL"}


@pytest.mark.parametrize("argument", ["--without-containers", "https://pipeline.example.com"])
def test_env_file_of_a_server_needs_a_host_name(tmp_path: Path, argument: str) -> None:
    result = write_env(tmp_path, argument)

    assert result.returncode == 2
    assert "name the host, for example pipeline.example.com" in result.stderr
    assert not (tmp_path / ".env").exists()


def test_no_file_contains_a_password() -> None:
    example = read_env(ROOT / ".env.example")
    text = (ROOT / "docker-compose.yml").read_text()

    assert [example[name] for name in SECRETS] == [""] * len(SECRETS)
    assert not re.search(r"://\w*:(?!\$\{)[^@\s]*@", text)
    assert all(value.startswith("${") for value in re.findall(r"^ +\w*(?:PASSWORD|AUTH): (.*)", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["POSTGRES_PASSWORD", "REDIS_PASSWORD", "SITE_ADDRESS"])
def test_compose_needs_the_variables_without_a_default(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyError, match=name):
        compose(new_env(tmp_path) | {name: ""})


def test_compose_names_only_services_volumes_ports_and_files_that_exist(tmp_path: Path) -> None:
    env = new_env(tmp_path)
    file = compose(env)
    services = file["services"]
    sources = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])]
    named = [source for source in sources if not source.startswith(".")]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    exposed = [step.arguments for step in dockerfile() if step.name == "EXPOSE"]

    assert services.keys() == {
        "backup",
        "db",
        "redis",
        "migrate",
        "proxy",
        "web",
        "web2",
        "worker",
        "mail",
        "prometheus",
        "grafana",
    }
    assert set(named) == set(file["volumes"])
    assert all((ROOT / source).is_file() for source in sources if source.startswith("."))
    assert {needed for service in services.values() for needed in service.get("depends_on", {})} <= services.keys()
    # A service that others wait for until it is healthy has a check.
    awaited = {
        name
        for service in services.values()
        for name, condition in service.get("depends_on", {}).items()
        if condition["condition"] == "service_healthy"
    }
    assert {name for name in awaited if "healthcheck" not in services[name]} == set()
    # Everything but the proxy is for this computer only.
    assert published.keys() == {"proxy", "mail", "prometheus", "grafana"}
    assert published["mail"] == ["127.0.0.1:8025:8025"]
    assert all(port.startswith("127.0.0.1:") for name in published if name != "proxy" for port in published[name])
    assert services["db"]["image"] == "postgres:18"
    # PostgreSQL's image keeps its data below this folder since version 18.
    assert services["db"]["volumes"] == [
        "db:/var/lib/postgresql",
        "./deploy/ordinary_owner.sql:/docker-entrypoint-initdb.d/ordinary_owner.sql:ro",
    ]
    web = [name for name, service in services.items() if "pipeline_backend.web" in service.get("command", [])]
    assert f"{{$WEB_ADDRESS:{' '.join(f'{name}:{exposed[0]}' for name in web)}}}" in (ROOT / "Caddyfile").read_text()
    assert env["EMAIL_URL"] == "smtp://mail:1025"


def test_the_two_web_servers_of_compose_are_the_same_and_may_finish_their_requests(tmp_path: Path) -> None:
    services = compose(new_env(tmp_path))["services"]
    options = {option.partition("=")[0]: option for option in web_command([], 0)}

    assert services["web"] == services["web2"]
    kill_seconds = int(options["--workers-kill-timeout"].partition("=")[2])
    drain_seconds = int(services["web"]["environment"]["DRAIN_SECONDS"])
    assert drain_seconds + 30 <= kill_seconds < int(services["web"]["stop_grace_period"].removesuffix("s"))


def test_the_build_of_compose_is_an_override_for_each_service_of_the_image(tmp_path: Path) -> None:
    services = compose(new_env(tmp_path))["services"]
    override = yaml.safe_load((ROOT / "docker-compose.build.yml").read_text())["services"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    images = {name: service["image"] for name, service in services.items() if "pipeline-backend" in service["image"]}

    assert images.keys() == override.keys()
    assert set(images.values()) == {f"ghcr.io/pipeline-backend/pipeline-backend:{version}"}
    assert [name for name, service in services.items() if "build" in service] == []
    assert [name for name, service in override.items() if "build" in service] == ["migrate"]
    assert {service["image"] for service in override.values()} == {"${PIPELINE_IMAGE:-pipeline-backend}"}
    # Only where it is tried out from a checkout.
    assert (tmp_path / "docker-compose.override.yml").exists()
    new_env(tmp_path / "server", "pipeline.example.com")
    assert not (tmp_path / "server/docker-compose.override.yml").exists()


def test_every_log_of_compose_has_a_limit(tmp_path: Path) -> None:
    services = compose(new_env(tmp_path))["services"]

    assert {name for name, service in services.items() if "max-size" not in service["logging"]["options"]} == set()


def test_prometheus_of_compose_scrapes_where_web_and_workers_answer(tmp_path: Path) -> None:
    env = new_env(tmp_path)
    file = compose(env)
    services = file["services"]
    config = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    source = yaml.safe_load((ROOT / "deploy" / "grafana-datasource.yml").read_text())["datasources"][0]
    exposed = [step.arguments for step in dockerfile() if step.name == "EXPOSE"]
    targets = {
        tuple(found["names"]): found["port"] for job in config["scrape_configs"] for found in job["dns_sd_configs"]
    }
    secrets = {job["authorization"]["credentials_file"] for job in config["scrape_configs"]}
    mounted = dict(volume.split(":")[:2] for volume in services["prometheus"]["volumes"])

    worker_port = int(services["worker"]["environment"]["METRICS_ADDRESS"].removeprefix("0.0.0.0:"))
    assert targets == {("web", "web2"): int(exposed[0]), ("worker",): worker_port}
    assert secrets == {f"/run/secrets/{name}" for name in services["prometheus"]["secrets"]}
    assert [file["secrets"][name] for name in services["prometheus"]["secrets"]] == [{"environment": "METRICS_TOKEN"}]
    # The image's own command line reads this file.
    assert mounted["./deploy/prometheus.yml"] == "/etc/prometheus/prometheus.yml"
    assert [mounted[f"./deploy/{name}"] for name in config["rule_files"]] == ["/etc/prometheus/alerts.yml"]
    assert source["url"] == f"http://prometheus:{services['prometheus']['ports'][0].rpartition(':')[2]}"


def test_nginx_limits_the_pages_that_the_web_server_limits() -> None:
    fast_paths = re.search(
        r"^FAST_PATHS = \{(.*)\}$", (ROOT / "pipeline_backend/web/requests.py").read_text(), re.MULTILINE
    )
    page = re.search(r'"~\*(\S+)" \$binary_remote_addr;', (ROOT / "deploy/nginx.conf").read_text())

    assert fast_paths is not None
    assert page is not None
    paths = set(re.findall(r'"(.+?)"', fast_paths[1]))
    # An empty session cookie, a colon, and the path. Only the local run has receivers of its own webhooks.
    assert {path for path in paths if re.match(page[1], f":{path}")} == {"/local/inbox", "/local/removed"}
    assert re.match(page[1], ":/admin/login/")
    assert not re.match(page[1], ":/api/external/leads")
    assert not re.match(page[1], ":/static/staff/icon.svg")


def test_image_copies_from_stages_and_folders_that_exist() -> None:
    steps = dockerfile()
    stages = [step.arguments.partition(" AS ")[2] for step in steps if step.name == "FROM"]
    copies = [step.arguments.split() for step in steps if step.name == "COPY"]
    made = [step.arguments for step in steps if step.stage == 0]

    for *options, source, _target in copies:
        if options:
            assert options == [f"--from={stages[0]}"]
            assert any(source in arguments for arguments in made)
        else:
            assert (ROOT / source).exists()


def test_image_runs_as_a_user_without_rights_and_has_no_secrets() -> None:
    final = [step for step in dockerfile() if step.stage == 1]
    users = [step.arguments for step in final if step.name == "USER"]

    assert users == ["10001"]
    assert any(step.name == "RUN" and "useradd" in step.arguments and "--uid 10001" in step.arguments for step in final)
    # Its last instructions: nothing is written or run after the user has changed.
    assert [step.name for step in final][-4:] == ["USER", "EXPOSE", "HEALTHCHECK", "CMD"]
    assert not [step for step in final if step.name in {"ENV", "ARG"} and re.search("KEY|PASSWORD|URL", step.arguments)]
    assert ".env" in (ROOT / ".dockerignore").read_text().split()


def test_linters_accept_the_files() -> None:
    workflows = [str(path) for path in (ROOT / ".github/workflows").glob("*.yml")]
    compose_files = ["docker-compose.yml", "docker-compose.build.yml", "docker-compose.servers.yml"]
    commands = [
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *compose_files],
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows],
    ]
    # There is no wheel of hadolint for other systems.
    if sys.platform == "linux" and platform.machine() == "x86_64":
        commands.append([str(Path(sys.executable).parent / "hadolint"), "Dockerfile"])

    for command in commands:
        checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_backup_of_compose_dumps_at_its_start_and_deletes_old_dumps(tmp_path: Path, transactional_db: None) -> None:
    script = (ROOT / "deploy/compose_backup.sh").read_text()
    assert "directory=/var/backups/pipeline\n" in script
    (tmp_path / "script").write_text(script.replace("/var/backups/pipeline", str(tmp_path)))
    for name in ("old.dump", "old.dump.tmp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    database = connection.settings_dict
    variables = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}

    running = processes.start(
        ["sh", tmp_path / "script"],
        env={"PATH": f"{POSTGRES}:{os.defpath}", **{name: str(database[key]) for name, key in variables.items()}},
    )
    processes.wait_until(lambda: running.poll() is not None or not (tmp_path / "old.dump.tmp").exists(), 120)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()

    (dump,) = tmp_path.glob("*.dump*")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\.dump", dump.name)
    assert dump.read_bytes().startswith(b"PGDMP")
    assert file_mode(dump) == 0o600
