"""Settings that can't be used stop the start (README.md, *Configuration*)."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

DATABASE = "postgres://user:password@host:5432/name"
REDIS = "redis://:password@host:6379/0"
EMAIL = "smtp+tls://user:password@host:587"
SCHEME = "has no known scheme"
PLACE = "has an invalid host, port or path (write / in a password as %2F)"


def start(**variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command that reads the settings and nothing else."""
    return subprocess.run(
        [sys.executable, "manage.py", "diffsettings", "--output", "unified"],
        cwd=settings.ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "url", "problem", "example"),
    [
        ("DATABASE_URL", "", SCHEME, DATABASE),
        ("DATABASE_URL", "S3cret", SCHEME, DATABASE),
        ("DATABASE_URL", "mysql://pipeline:S3cret@db/pipeline", SCHEME, DATABASE),
        ("DATABASE_URL", "postgres://", PLACE, DATABASE),
        ("DATABASE_URL", "postgres://pipeline:S3cret@db", PLACE, DATABASE),
        ("DATABASE_URL", "postgres://pipeline:S3cret@db:port/pipeline", PLACE, DATABASE),
        ("DATABASE_URL", "postgres://pipeline:S3cret@db:99999/pipeline", PLACE, DATABASE),
        ("DATABASE_URL", "postgres://pipeline:S3c/ret@db/pipeline", PLACE, DATABASE),
        ("DATABASE_URL", "postgres://pipeline:S3cret@[::1/pipeline", PLACE, DATABASE),
        ("REDIS_URL", "", SCHEME, REDIS),
        ("REDIS_URL", "S3cret", SCHEME, REDIS),
        ("REDIS_URL", "http://S3cret@redis", SCHEME, REDIS),
        ("REDIS_URL", "redis://", PLACE, REDIS),
        ("REDIS_URL", "redis://:S3c/ret@redis:6379/0", PLACE, REDIS),
        ("REDIS_URL", "redis://:S3cret@redis:6379/first", PLACE, REDIS),
        ("EMAIL_URL", "", SCHEME, EMAIL),
        ("EMAIL_URL", "S3cret", SCHEME, EMAIL),
        ("EMAIL_URL", "http://user:S3cret@host", SCHEME, EMAIL),
        ("EMAIL_URL", "smtp://", PLACE, EMAIL),
        ("EMAIL_URL", "smtp://user:S3cret@host:port", PLACE, EMAIL),
        ("BASE_URL", "S3cret", SCHEME, "https://pipeline.example.com"),
        ("BASE_URL", "https://", PLACE, "https://pipeline.example.com"),
        ("BASE_URL", "https://host:port", PLACE, "https://pipeline.example.com"),
        ("WEBHOOKS_PROXY", "S3cret:3128", SCHEME, "http://user:password@proxy:3128"),
        ("WEBHOOKS_PROXY", "http://user:S3cret@[proxy", PLACE, "http://user:password@proxy:3128"),
    ],
)
def test_an_unusable_url_is_named_in_one_sentence_with_an_example_and_without_its_value(
    name: str, url: str, problem: str, example: str
) -> None:
    result = start(**{name: url})

    expected = f"Invalid settings: {name} {problem}; an example is {example}\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", expected)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("DATABASE_URL", "postgresql://pipeline:S3c%2Fret@db/pipeline?sslmode=require"),
        ("DATABASE_URL", "postgres://pipeline@first:5432,second:5433/pipeline"),
        ("DATABASE_URL", "postgres://pipeline@%2Fvar%2Frun%2Fpostgresql/pipeline"),
        ("DATABASE_URL", "postgres://pipeline@[::1]:5432/pipeline"),
        ("DATABASE_URL", "postgres:///pipeline"),
        ("REDIS_URL", "rediss://redis.example.com"),
        ("REDIS_URL", "redis://user:password@redis:6379/3?health_check_interval=5"),
        ("EMAIL_URL", "consolemail://"),
        ("EMAIL_URL", "filemail:////var/mail"),
        ("EMAIL_URL", "smtp://mail.example.com:25/?timeout=5"),
        ("EMAIL_URL", "smtps://user%40example.com:password@mail.example.com:465"),
        ("BASE_URL", "https://pipeline.example.com/"),
        ("WEBHOOKS_PROXY", ""),
    ],
)
def test_a_usable_url_is_accepted(name: str, url: str) -> None:
    result = start(**{name: url})

    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("METRICS_TOKEN", "too-short", "must have 16 to 200 letters, digits or -._~+/="),
        ("METRICS_TOKEN", "S3cret with spaces, and long", "must have 16 to 200 letters, digits or -._~+/="),
        ("METRICS_ADDRESS", "9101", "must be an IPv4 address and a port, such as 127.0.0.1:9101"),
        ("METRICS_ADDRESS", "localhost:9101", "must be an IPv4 address and a port, such as 127.0.0.1:9101"),
        ("METRICS_ADDRESS", "127.0.0.1:99999", "must be an IPv4 address and a port, such as 127.0.0.1:9101"),
    ],
)
def test_an_unusable_setting_of_the_metrics_is_named_without_its_value(name: str, value: str, problem: str) -> None:
    result = start(**{name: value})

    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"Invalid settings: {name} {problem}\n")
