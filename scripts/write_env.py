"""Writes .env with new secrets, from .env.example or deploy/server.env.example. Needs only Python, no packages.

Without a host name, it also lets Docker Compose build the image from this checkout instead of pulling it.
"""

import argparse
import base64
import os
import secrets
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def new_values(host: str) -> dict[str, str]:
    """Return variables with new secrets, and those that depend on the host name, if there is one."""
    # Hexadecimal, because they are parts of URLs.
    postgres, redis = secrets.token_hex(24), secrets.token_hex(24)
    values = {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "FIELD_ENCRYPTION_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "POSTGRES_PASSWORD": postgres,
        "REDIS_PASSWORD": redis,
        "DATABASE_URL": f"postgres://pipeline:{postgres}@127.0.0.1:5432/pipeline",
        "REDIS_URL": f"redis://:{redis}@127.0.0.1:6379/0",
        "METRICS_TOKEN": secrets.token_urlsafe(32),
    }
    if host:
        values |= {
            "SITE_ADDRESS": host,
            "BASE_URL": f"https://{host}",
            "ALLOWED_HOSTS": f"{host},127.0.0.1",
            "DEFAULT_FROM_EMAIL": f"pipeline@{host}",
            # No mail catcher, and no default mail server: nothing starts until it is set.
            "COMPOSE_PROFILES": "",
            "EMAIL_URL": "",
        }
    return values


def main() -> None:
    """Write the file, readable by its owner only. Exits with a message if it exists already."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host", nargs="?", default="", help="the server's public name, such as pipeline.example.com")
    parser.add_argument("--without-containers", action="store_true", help="for the systemd services in deploy/systemd")
    options = parser.parse_args()
    if "/" in options.host or (options.without_containers and not options.host):
        parser.error("name the host, for example pipeline.example.com")
    values = new_values(options.host)
    template = "deploy/server.env.example" if options.without_containers else ".env.example"
    lines = (ROOT / template).read_text().splitlines()
    filled = [f"{name}={values[name]}" if (name := line.partition("=")[0]) in values else line for line in lines]
    try:
        descriptor = os.open(ROOT / ".env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.exit(".env exists already, and its secrets may be in use. Nothing was changed.")
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(filled) + "\n")
    if not options.host:
        shutil.copyfile(ROOT / "docker-compose.build.yml", ROOT / "docker-compose.override.yml")
    missing = " Set EMAIL_URL in it to your mail server before you start." if options.host else ""
    sys.stdout.write(f"Wrote .env.{missing}\n")


if __name__ == "__main__":
    main()
