"""A real Prometheus scrapes the service and is asked everything that dashboard and alerts ask (docs/metrics.md)."""

import json
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import yaml

from dev.local import processes
from organizations.models import Organization
from pipeline_backend.celery import app as celery
from tests.client import ApiClient
from tests.factories import make_api, make_organization
from tests.faults.conftest import api, organization, receiver, stack
from tests.faults.stack import ROOT, Stack, reserved_port, wait_for
from tests.programs import find_program
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.services import add_endpoint

__all__ = ["api", "organization", "receiver", "stack"]  # fixtures of the fault tests

DEPLOY = ROOT / "deploy"
PATH, TASK = "api/external/appointments", "appointments.refresh_touch_points"
TOKEN = "metrics-token-0123456789"
LEAD = {"lead_email": "canary.ada@leads.example", "lead_first_name": "Canarina"}
WAIT = 60  # seconds for each wait: only a hang takes as long
# Nothing in the test fails with a server error.
MAY_BE_EMPTY = {"Server errors by route"}


class Prometheus:
    """A Prometheus server with the configuration of `deploy/`, for one web server and one worker on this computer."""

    def __init__(self, folder: Path, web_port: int, worker_port: int) -> None:
        self.folder, self.port = folder, reserved_port()
        folder.mkdir()
        config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(DEPLOY / name) for name in config["rule_files"]]
        (folder / "token").write_text(TOKEN)
        for job, port in zip(config["scrape_configs"], (web_port, worker_port), strict=True):
            del job["dns_sd_configs"]
            job["authorization"] = {"credentials_file": str(folder / "token")}
            job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    def start(self, stack: ExitStack) -> None:
        """Start the server and wait until it is ready. The exit stack kills it."""
        log = stack.enter_context((self.folder / "prometheus.log").open("wb"))
        command = [
            find_program("prometheus"),
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        process = processes.start(command, parent_death_signal=signal.SIGKILL, stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.kill)
        wait_for(lambda: process.poll() is not None or self.get("/-/ready") is not None, seconds=WAIT)
        assert process.poll() is None, (self.folder / "prometheus.log").read_text()

    def get(self, path: str, **query: str) -> bytes | None:
        """Return the body of a successful response, or None."""
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=WAIT) as response:
                return bytes(response.read())
        except OSError:
            return None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the result of a query, which must succeed."""
        body = self.get("/api/v1/query", query=expression)
        assert body is not None, expression
        result: list[dict[str, Any]] = json.loads(body)["data"]["result"]
        return result

    def has_figure(self, expression: str) -> bool:
        """Return whether a query has a result that is a number. The average of no requests is NaN."""
        return any(series["value"][1] != "NaN" for series in self.query(expression))


def read_dashboard() -> list[dict[str, Any]]:
    """Return the panels that have queries."""
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    return [panel for panel in panels if panel["type"] != "row"]


def dashboard_queries() -> Iterator[tuple[str, str]]:
    """Yield title and expression of each query, for rates over the whole test."""
    for panel in read_dashboard():
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "10m")


def alert_rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def metric_names(text: str) -> set[str]:
    """Return our metrics that a text names, without the endings of a histogram's series."""
    return {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bpipeline_[a-z_]+", text)}


def scrape(url: str, authorization: str = f"Bearer {TOKEN}") -> tuple[int, str]:
    """Return status and text."""
    request = urllib.request.Request(url, headers={"Authorization": authorization})
    try:
        with urllib.request.urlopen(request, timeout=WAIT) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def book_some(stack: Stack, key: str, start: int) -> None:
    for number in range(start, start + 3):
        assert stack.book(key, external_reference=f"ref-{number}", **LEAD)[0] == 201
        assert stack.get(f"/{PATH}", key)[0] == 200


def test_prometheus_answers_every_query_of_dashboard_and_alerts(
    stack: Stack, organization: Organization, api: ApiClient, receiver: Receiver, tmp_path: Path
) -> None:
    limited_organization = make_organization("LimitedWidgets")
    limited_organization.rate_limit_per_minute = 1
    limited_organization.save()
    limited = make_api(limited_organization)
    working = add_endpoint(organization=organization, url=receiver.url)[0]
    worker_port = reserved_port()
    stack.settings |= {
        "METRICS_TOKEN": TOKEN,
        "METRICS_ADDRESS": f"127.0.0.1:{worker_port}",
        "LOG_FORMAT": "json",
        "RATE_LIMIT_PER_MINUTE": "100000",
        "TMPDIR": str(tmp_path),
    }
    stack.overrides["BODY_SECONDS"] = 5
    stack.web_workers = 2
    prometheus = Prometheus(tmp_path / "prometheus", stack.port, worker_port)
    urls = {"web": stack.url("/metrics"), "worker": f"http://127.0.0.1:{worker_port}/metrics"}
    with ExitStack() as exit_stack, Receiver(status_codes=[500]) as broken:
        failing = add_endpoint(organization=organization, url=broken.url)[0]
        stack.start("web", "worker")
        # Its body never comes, and the web server refuses it while the rest goes on.
        stalled = exit_stack.enter_context(socket.create_connection(("127.0.0.1", stack.port)))
        headers = ["Host: 127.0.0.1", f"x-api-key: {api.key}", "Content-Length: 9", "", ""]
        stalled.sendall("\r\n".join([f"POST /{PATH} HTTP/1.1", *headers]).encode())
        prometheus.start(exit_stack)
        for start in (0, 3):
            book_some(stack, api.key or "", start)
            wait_for(lambda: stack.get(f"/{PATH}", limited.key or "")[0] == 429, seconds=WAIT)
            stack.send_task(TASK)
            # The second round begins when the first one is scraped, because a rate takes two values.
            for expression in [
                f'pipeline_http_requests_total{{route="{PATH}",method="POST",status="201"}} == {start + 3}',
                f'pipeline_http_requests_total{{route="{PATH}",method="GET",status="200"}} >= {start + 3}',
                f'pipeline_delivery_attempts_total{{queue="webhooks",outcome="delivered"}} >= {start + 3}',
                f'pipeline_tasks_total{{task="{TASK}",outcome="success"}} == {start / 3 + 1}',
            ]:
                wait_for(lambda: prometheus.query(expression), seconds=WAIT)  # noqa: B023

        # What the figures say. Prometheus has each of them with its next scrape.
        for expression in [
            'min(up{job=~"web|worker"}) == 1',
            'sum(pipeline_delivery_attempts_total{queue="webhooks",outcome="failed"}) > 0',
            'pipeline_limits_exceeded_total{limit="organization"} >= 2',
            'pipeline_webhook_endpoints{state="failing"} == 1',
            "pipeline_task_last_success_timestamp_seconds > time() - 3600",
            "sum(pipeline_http_request_database_seconds_total) > 0",
            "sum(pipeline_http_request_redis_seconds_total) > 0",
            "pipeline_database_up == 1",
            'pipeline_http_requests_total{route="-",method="POST",status="408"} == 1',
        ]:
            wait_for(lambda: prometheus.query(expression), seconds=WAIT)  # noqa: B023

        assert_queries_have_figures(prometheus)
        secrets = [api.key or "", working.secret, failing.secret, receiver.url, TOKEN]
        assert_exposed_as_documented(urls, [*LEAD.values(), "Acme", limited_organization.name, *secrets])
        assert_only_with_token(stack, urls)
        assert_killed_processes_lose_no_count(stack, urls["web"])

        # The server leaves no files behind.
        assert len(list(tmp_path.glob("*-metrics-*"))) == 1
        stack.kill("web", signal.SIGTERM)
        stack.wait_for_exit("web", seconds=WAIT)
        assert list(tmp_path.glob("*-metrics-*")) == []


def assert_queries_have_figures(prometheus: Prometheus) -> None:
    """Ask what dashboard and alerts ask."""
    for title, expression in dashboard_queries():
        if title not in MAY_BE_EMPTY:
            wait_for(lambda: prometheus.has_figure(expression), seconds=WAIT)  # noqa: B023
    rules = alert_rules()
    for rule in rules:
        prometheus.query(rule["expr"])
    loaded = json.loads(prometheus.get("/api/v1/rules") or b"")["data"]["groups"][0]["rules"]
    assert [(rule["name"], rule.get("lastError", "")) for rule in loaded] == [(rule["alert"], "") for rule in rules]


def assert_exposed_as_documented(urls: dict[str, str], private: list[str]) -> None:
    """What is exposed is what the page lists; it has no id of a customer, and none of these texts."""
    texts: dict[str, str] = {}

    def scrape_all() -> bool:
        texts.update({name: scrape(url)[1] for name, url in urls.items()})
        return "pipeline_database_up 1" in texts["web"]  # in time, on a busy machine

    wait_for(scrape_all, seconds=WAIT)
    exposed = {line.split()[2] for text in texts.values() for line in text.splitlines() if "# TYPE pipeline_" in line}
    page = (ROOT / "docs" / "metrics.md").read_text()
    asked = " ".join([expression for _, expression in dashboard_queries()] + [rule["expr"] for rule in alert_rules()])
    assert set(re.findall(r"^\| `(pipeline_\w+)`", page, re.MULTILINE)) == exposed
    assert metric_names(asked) - {"pipeline_backup_last_success_timestamp_seconds"} <= exposed  # deploy/backup.sh
    ids = [
        str(id)
        for model in (Organization, Endpoint, Delivery)
        for id in model._base_manager.values_list("pk", flat=True)
    ]
    assert [text for text in [*private, *ids] if any(text in scraped for scraped in texts.values())] == []


def assert_only_with_token(stack: Stack, urls: dict[str, str]) -> None:
    """Another token gets nothing, and no log has a token."""
    wrong = {(name, scrape(url, "Bearer wrong-canary-token")) for name, url in urls.items()}
    assert wrong == {(name, (401, "")) for name in urls}
    logs = "".join(log.read_text() for log in stack.folder.glob("*.log"))
    assert [text for text in (TOKEN, "wrong-canary-token", "/metrics") if text in logs] == []


def assert_killed_processes_lose_no_count(stack: Stack, url: str) -> None:
    """The counts of web processes stay when these are killed and replaced."""
    booked = 'pipeline_http_requests_total{method="POST",route="api/external/appointments",status="201"} 6.0'
    children = psutil.Process(stack.processes["web"].pid).children()
    assert booked in scrape(url)[1]
    for child in children:
        child.kill()
    wait_for(lambda: stack.get("/readyz")[0] == 200 and has_replaced(stack, children), seconds=WAIT)
    assert booked in scrape(url)[1]


def has_replaced(stack: Stack, killed: list[psutil.Process]) -> bool:
    """Return whether as many web processes run again as before."""
    running = {child.pid for child in psutil.Process(stack.processes["web"].pid).children()}
    return len(running - {child.pid for child in killed}) >= stack.web_workers


def test_promtool_accepts_the_rules_and_each_alert_fires_when_it_should() -> None:
    for arguments in (
        ["check", "rules", DEPLOY / "alerts.yml"],
        ["test", "rules", ROOT / "tests/metrics/alerts_test.yml"],
    ):
        checked = subprocess.run(
            [find_program("promtool"), *arguments], capture_output=True, text=True, timeout=WAIT, check=False
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr

    tested = yaml.safe_load((ROOT / "tests/metrics/alerts_test.yml").read_text())["tests"]
    fired = {case["alertname"] for test in tested for case in test["alert_rule_test"] if case.get("exp_alerts")}
    silent = {case["alertname"] for test in tested for case in test["alert_rule_test"] if not case.get("exp_alerts")}
    assert fired == silent == {rule["alert"] for rule in alert_rules()}


def test_dashboard_and_alerts_name_only_periodic_tasks() -> None:
    asked = " ".join([expression for _, expression in dashboard_queries()] + [rule["expr"] for rule in alert_rules()])

    assert set(re.findall(r'task="([^"]+)"', asked)) == {TASK}
    assert TASK in celery.conf.beat_schedule


def test_every_panel_has_a_title_a_description_and_a_unit_and_none_covers_another() -> None:
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns, rows = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        own = {(x, y) for x in columns for y in rows}
        assert not own & cells, panel["title"]
        assert max(columns) < 24
        cells |= own

    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in read_dashboard():
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_the_page_names_every_alert() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()

    assert re.findall(r"^\| `([A-Z]\w+)` \|", page, re.MULTILINE) == [rule["alert"] for rule in alert_rules()]
