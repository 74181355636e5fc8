"""Settings that can't be used stop the start (docs/operate.md, *Settings*)."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.invitations import INVITATIONS_PER_DAY
from accounts.passwords import PASSWORD_HASHES_AT_ONCE
from appointments.services.configuration import MAX_EVENT_TYPES
from leads.services import MAX_CUSTOM_FIELDS
from notifications.daily_limit import MAILS_PER_DAY
from organizations.services import MAX_API_KEYS
from pipeline_backend.env import read_secret
from pipeline_backend.former_settings import REPLACEMENTS, warn_of_former_settings
from tests.commands.start import start_all
from webhooks.services import MAX_WEBHOOK_ENDPOINTS

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.*?) ?\|$", re.MULTILINE)


def listed_in(page: str) -> dict[str, str]:
    """Return the settings of a page's table, with their defaults."""
    return {name: default.strip("`") for name, default, _ in ROW.findall((ROOT / page).read_text())}


SETTINGS = listed_in("docs/operate.md")

SECRET = "S3cret"
NOT_TEXT = f"{SECRET}\udcff"  # a byte that isn't UTF-8
ANY_TEXT = [NOT_TEXT, f"{SECRET}\n{SECRET}"]
ZERO = {"DRAIN_SECONDS"}
WHOLE_NUMBER = [NOT_TEXT, "", "ten", "-1", "1.5", "1e3", "1 000", "٣", "99999999999"]
BOOLEAN = [NOT_TEXT, "", "ture", "2", "true false"]
KEY = Fernet.generate_key().decode()
DATABASE = "postgres://user:password@host:5432/name"
REDIS = "redis://:password@host:6379/0"
EMAIL = "smtp+tls://user:password@host:587"
BASE = "https://pipeline.example.com"
PROXY = "http://user:password@proxy:3128"
SCHEME = "has no known scheme"
CHECK = "has an ssl_cert_reqs other than required or none"
PLACE = "has an invalid host, port or path (write / in a password as %2F)"

# A URL setting, then its example, and nonsense with the problem that the message names.
URLS: dict[str, tuple[str, dict[str, str]]] = {
    "DATABASE_URL": (
        DATABASE,
        {
            "": SCHEME,
            SECRET: SCHEME,
            f"${SECRET}": SCHEME,
            f"mysql://pipeline:{SECRET}@db/pipeline": SCHEME,
            "postgres://": PLACE,
            f"postgres://pipeline:{SECRET}@db": PLACE,
            f"postgres://pipeline:{SECRET}@db:port/pipeline": PLACE,
            f"postgres://pipeline:{SECRET}@db:99999/pipeline": PLACE,
            "postgres://pipeline:S3c/ret@db/pipeline": PLACE,
            "postgres://pipeline:S3c#ret@db/pipeline": PLACE,
            f"postgres://pipeline:{SECRET}@[::1/pipeline": PLACE,
        },
    ),
    "REDIS_URL": (
        REDIS,
        {
            "": SCHEME,
            SECRET: SCHEME,
            f"${SECRET}": SCHEME,
            f"http://{SECRET}@redis": SCHEME,
            "redis://": PLACE,
            "redis://:S3c/ret@redis:6379/0": PLACE,
            f"redis://:12#{SECRET}@redis:6379/0": PLACE,
            f"redis://:{SECRET}@redis:6379/first": PLACE,
            f"rediss://:{SECRET}@redis:6379/0?ssl_cert_reqs=sometimes": CHECK,
        },
    ),
    "EMAIL_URL": (
        EMAIL,
        {
            "": SCHEME,
            SECRET: SCHEME,
            f"${SECRET}": SCHEME,
            f"http://user:{SECRET}@host": SCHEME,
            "smtp://": PLACE,
            f"smtp://user:{SECRET}@host:port": PLACE,
        },
    ),
    "BASE_URL": (
        BASE,
        {
            "": SCHEME,
            SECRET: SCHEME,
            "pipeline.example.com": SCHEME,
            "ftp://pipeline.example.com": SCHEME,
            "https://": PLACE,
            "https://host:port": PLACE,
            "https://pipe line.example.com": PLACE,
            "https://pipe line.example.com:8000": PLACE,
            f"https://{SECRET}@pipeline.example.com:8000": PLACE,
            f"https://user:{SECRET}@pipeline.example.com": PLACE,
            f"https://pipeline.example.com/?{SECRET}": PLACE,
        },
    ),
    "WEBHOOKS_PROXY": (
        PROXY,
        {
            f"{SECRET}:3128": SCHEME,
            f"${SECRET}": SCHEME,
            f"socks5://user:{SECRET}@proxy:1080": SCHEME,
            "http://": PLACE,
            f"http://user:{SECRET}@[proxy": PLACE,
        },
    ),
}
OTHERS = {
    # Any text is a key, so only what is empty or no text is nonsense.
    "SECRET_KEY": ["", "  ", *ANY_TEXT],
    "SECRET_KEY_FALLBACKS": ANY_TEXT,
    "FIELD_ENCRYPTION_KEYS": ["", ",", SECRET, f"${SECRET}", f"{KEY},{SECRET}", f"{KEY[:-5]}", *ANY_TEXT],
    "ALLOWED_HOSTS": ["", " , ", "https://host", "host:8000", "host/path", "a b", "a,b c", "::1", *ANY_TEXT],
    "DEFAULT_FROM_EMAIL": ["", "Pipeline", "a@", "a@b@c", "Pipeline <a b>", "a@b.example, c@d.example", *ANY_TEXT],
    "WEBHOOKS_ALLOWED_NETWORKS": ["ten", "10.1.0.0/99", "10.1.0.1/16", "10.1.0.0/16;fd12::/48", *ANY_TEXT],
    "DATABASE_POOLER": ["", "none", "statement", "pgbouncer", *ANY_TEXT],
    "SENTRY_DSN": [
        SECRET,
        f"${SECRET}",
        f"ftp://{SECRET}@sentry.example.com/1",
        "https://sentry.example.com/1",
        f"https://{SECRET}@sentry.example.com",
        f"https://{SECRET}@sentry.example.com/project",
        f"https://{SECRET}@sentry.example.com:port/1",
        *ANY_TEXT,
    ],
    "OTEL_EXPORTER_OTLP_ENDPOINT": [
        SECRET,
        "127.0.0.1:4318",
        "grpc://127.0.0.1:4317",
        "http://",
        f"http://{SECRET} {SECRET}:4318",
        *ANY_TEXT,
    ],
    "METRICS_TOKEN": [SECRET, f"{SECRET} with spaces, and long", f"{SECRET}-{200 * 'x'}", *ANY_TEXT],
    "METRICS_ADDRESS": ["", "9101", "localhost:9101", "127.0.0.1:99999", "127.0.0.1:0", "[::1]:9101", *ANY_TEXT],
    "LOG_FORMAT": ["", "xml", "json text", *ANY_TEXT],
    "STATIC_ROOT": [str(ROOT / "README.md"), "/dev/null", "/dev/null/static", "x" * 300, *ANY_TEXT],
}
# What is a number, and can't be used all the same.
TOO_SMALL_OR_LARGE = {
    "KEEP_DELIVERIES_DAYS": ["36501"],
    "KEEP_EVENTS_DAYS": ["36501"],
    "KEEP_SECURITY_EVENTS_DAYS": ["36501"],
    "DRAIN_SECONDS": ["61"],
}

USABLE = [
    ("DATABASE_URL", "postgresql://pipeline:S3c%2Fret@db/pipeline?sslmode=require"),
    ("DATABASE_URL", "postgres://pipeline@first:5432,second:5433/pipeline"),
    ("DATABASE_URL", "postgres://pipeline@%2Fvar%2Frun%2Fpostgresql/pipeline"),
    ("DATABASE_URL", "postgres://pipeline@[::1]:5432/pipeline"),
    ("DATABASE_URL", "postgres:///pipeline"),
    ("REDIS_URL", "rediss://redis.example.com"),
    ("REDIS_URL", "rediss://redis.example.com:6380/0?ssl_ca_certs=/etc/ssl/own-ca.pem&ssl_cert_reqs=CERT_REQUIRED"),
    ("REDIS_URL", "redis://user:password@redis:6379/3?health_check_interval=5"),
    ("EMAIL_URL", "consolemail://"),
    ("EMAIL_URL", "filemail:////var/mail"),
    ("EMAIL_URL", "smtp://mail.example.com:25/?timeout=5"),
    ("EMAIL_URL", "smtps://user%40example.com:password@mail.example.com:465"),
    ("BASE_URL", "https://pipeline.example.com/"),
    ("WEBHOOKS_PROXY", ""),
    ("SECRET_KEY", "$looks-like-the-name-of-a-variable"),
    ("SECRET_KEY_FALLBACKS", ""),
    ("SECRET_KEY_FALLBACKS", "$first, second"),
    ("ALLOWED_HOSTS", "pipeline.example.com, .example.org,*,[::1],web_1"),
    ("DEFAULT_FROM_EMAIL", '"Pipeline, Sales" <sales@pipeline.example.com>'),
    ("STATIC_ROOT", ""),
    ("STATIC_ROOT", "/nowhere/static"),
    ("SENTRY_DSN", ""),
    ("SENTRY_DSN", "https://0123456789abcdef@o1.ingest.sentry.example.com/2"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
    ("DATABASE_POOLER", "transaction-prepared"),
    ("RATE_LIMIT_PER_MINUTE", " 600\n"),
    ("LOG_FORMAT", "JSON"),
]


def nonsense_for(name: str) -> list[str]:
    """Return values that the setting can't have. A setting of a new type needs its own here."""
    default = SETTINGS[name]
    if default.isdecimal():
        return [*WHOLE_NUMBER, *([] if name in ZERO else ["0"]), *TOO_SMALL_OR_LARGE.get(name, [])]
    if default in {"true", "false"}:
        return BOOLEAN
    return [*URLS[name][1], *ANY_TEXT] if name in URLS else OTHERS[name]


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, str | None], str | None]:
    """Return the error of a start with each value, and without each setting that has no default; None if it starts."""
    cases: list[tuple[str, str | None]] = [(name, value) for name in SETTINGS for value in nonsense_for(name)]
    cases += [(name, None) for name, default in SETTINGS.items() if default == "none"] + USABLE
    return dict(zip(cases, start_all([dict([case]) for case in cases]), strict=True))


@pytest.mark.parametrize("name", SETTINGS)
def test_nonsense_stops_the_start_with_one_sentence_that_names_the_setting(
    name: str, errors: dict[tuple[str, str | None], str | None]
) -> None:
    results = {value: errors[name, value] for value in nonsense_for(name)}

    sentence = re.compile(rf"Invalid settings: [^\n]*\b{name}\b[^\n]*")
    assert {value: error for value, error in results.items() if not sentence.fullmatch(error or "")} == {}
    assert len(results) >= 2
    # No message quotes the value, which can contain a password.
    assert [error for error in results.values() if "S3c" in (error or "")] == []


@pytest.mark.parametrize("name", [name for name, default in SETTINGS.items() if default == "none"])
def test_a_missing_setting_is_named(name: str, errors: dict[tuple[str, str | None], str | None]) -> None:
    error = errors[name, None]

    assert re.fullmatch(rf"Invalid settings: [^\n]*\b{name}\b[^\n]*", error or "")


@pytest.mark.parametrize("name", URLS)
def test_the_sentence_about_a_url_says_what_is_wrong_and_has_an_example(
    name: str, errors: dict[tuple[str, str | None], str | None]
) -> None:
    example, problems = URLS[name]

    sentences = {url: errors[name, url] for url in problems}

    assert sentences == {
        url: f"Invalid settings: {name} {problem}; an example is {example}" for url, problem in problems.items()
    }


@pytest.mark.parametrize(("name", "value"), USABLE)
def test_a_usable_value_is_accepted(name: str, value: str, errors: dict[tuple[str, str | None], str | None]) -> None:
    assert errors[name, value] is None


@pytest.fixture
def web() -> Iterator["subprocess.Popen[str]"]:
    process = start_process("-m", "pipeline_backend.web", "--host", "127.0.0.1", "--port", "0", "--workers", "1")
    yield process
    process.kill()
    process.communicate()


def start_process(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "LOG_FORMAT": "xml"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_web_server_stops_with_the_same_sentence(web: "subprocess.Popen[str]") -> None:
    output, _ = web.communicate(timeout=60)

    assert web.returncode not in {0, -signal.SIGKILL}
    assert "Invalid settings: LOG_FORMAT must be one of: text, json\n" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    "command",
    ["-m pipeline_backend.worker", "manage.py migrate"],
)
def test_other_processes_stop_with_the_same_sentence(command: str) -> None:
    process = start_process(*command.split())

    output, _ = process.communicate(timeout=60)

    assert (process.returncode, output) == (1, "Invalid settings: LOG_FORMAT must be one of: text, json\n")


@pytest.mark.parametrize(
    ("value", "mode", "threshold"),
    [("session", "session", "5"), ("transaction", "transaction", "None"), ("transaction-prepared", "transaction", "5")],
)
def test_statements_are_prepared_unless_the_pooler_would_lose_them(value: str, mode: str, threshold: str) -> None:
    code = (
        "from pipeline_backend import settings\n"
        "print(settings.DATABASE_POOLER, settings.DATABASES['default']['OPTIONS']['prepare_threshold'])"
    )
    environment = {**os.environ, "DATABASE_POOLER": value}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == f"{mode} {threshold}\n"


def test_a_value_can_come_from_a_file_and_errors_name_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("SECRET_KEY_FILE", str(file))
    from_file = read_secret("SECRET_KEY")
    errors = {}
    for case, path, value in [
        ("empty file", "/dev/null", ""),
        ("no file", f"/nowhere/{SECRET}", ""),
        ("a folder", str(tmp_path), ""),
        ("the secret instead of a path", f"{SECRET}\0", ""),
        ("both", str(file), SECRET),
    ]:
        monkeypatch.setitem(os.environ, "SECRET_KEY", value)
        monkeypatch.setattr(os, "environ", {**os.environ, "SECRET_KEY_FILE": path})
        with pytest.raises(ImproperlyConfigured) as raised:
            read_secret("SECRET_KEY")
        errors[case] = str(raised.value)

    assert from_file == SECRET
    assert errors == {
        "empty file": "SECRET_KEY must not be empty",
        "no file": "SECRET_KEY_FILE names a file that can't be read: No such file or directory",
        "a folder": "SECRET_KEY_FILE names a file that can't be read: Is a directory",
        "the secret instead of a path": "SECRET_KEY_FILE names a file that can't be read: its path is invalid",
        "both": "SECRET_KEY and SECRET_KEY_FILE are both set; remove one of them",
    }


def test_the_documentation_lists_exactly_the_settings_that_the_code_reads() -> None:
    code = "".join(path.read_text() for path in (ROOT / "pipeline_backend/settings").glob("*.py"))

    read = re.findall(r'\bread_\w+\(\s*"([A-Z_]+)"', code)

    assert set(SETTINGS) == set(read)


def test_the_readme_lists_what_every_installation_sets_as_the_list_of_all_does() -> None:
    listed = listed_in("README.md")

    assert len(listed) == 8
    assert listed.items() <= SETTINGS.items()


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_former_setting_is_named_at_the_start_with_what_replaces_it(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, "7")

    warn_of_former_settings()

    assert caplog.messages == [f"{name} is set, but no longer read: {REPLACEMENTS[name]} (CHANGELOG.md)"]
    assert name not in SETTINGS


def test_what_replaces_a_former_setting_is_true() -> None:
    constants = {
        "DATABASE_CONNECTION_SECONDS": settings.DATABASES["default"]["CONN_MAX_AGE"],
        "HSTS_SECONDS": 31_536_000,
        "INVITATIONS_PER_ORGANIZATION_PER_DAY": INVITATIONS_PER_DAY,
        "MAILS_PER_ORGANIZATION_PER_DAY": MAILS_PER_DAY,
        "MAX_API_KEYS": MAX_API_KEYS,
        "MAX_CUSTOM_FIELDS": MAX_CUSTOM_FIELDS,
        "MAX_EVENT_TYPES": MAX_EVENT_TYPES,
        "MAX_WEBHOOK_ENDPOINTS": MAX_WEBHOOK_ENDPOINTS,
        "PASSWORD_HASHES_AT_ONCE": PASSWORD_HASHES_AT_ONCE,
    }
    values = {name: text.removeprefix("it is always ") for name, text in REPLACEMENTS.items() if "always" in text}

    actual = {name: str(constants.get(name, getattr(settings, name, None))) for name in values}

    assert values == actual
    # The others name a setting that there is, or a command.
    others = "\n".join(text for name, text in REPLACEMENTS.items() if name not in values)
    assert set(re.findall(r"[A-Z]{3,}_[A-Z_]+", others)) <= set(SETTINGS)


def test_each_process_names_a_former_setting_once_and_starts() -> None:
    command = [sys.executable, "manage.py", "check"]
    environment = {**os.environ, "MAX_API_KEYS": "60"}

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True)

    assert done.stderr.splitlines() == [
        "WARNING pipeline_backend.former_settings [-] MAX_API_KEYS is set, but no longer read: it is always 50 "
        "(CHANGELOG.md)"
    ]


def test_the_files_of_the_deployment_name_only_settings_that_exist() -> None:
    example = re.findall(r"^#? ?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    compose = (ROOT / "docker-compose.yml").read_text()
    app = re.findall(r"^    ([A-Z_]+): ", compose.partition("x-app:")[2].partition("services:")[0], re.MULTILINE)
    dockerfile = re.findall(r"\b([A-Z_]{3,})=\S", (ROOT / "Dockerfile").read_text())

    # What Compose, Caddy and the servers read, and what the interpreter and the shell read.
    others = {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "SITE_ADDRESS", "COMPOSE_PROFILES"}
    interpreter = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
    assert {"DATABASE_URL", "REDIS_URL", "BEHIND_PROXY"} <= set(app)
    assert {*example, *app, *dockerfile} - others - interpreter - set(SETTINGS) == set()
    # Each of the others is used.
    assert [name for name in others - {"COMPOSE_PROFILES"} if f"${{{name}:?" not in compose] == []
