"""Writes .env from .env.example, with new secrets: python3 scripts/write_env.py [HOST].

HOST is the public host name of a server, which Caddy serves with https. Needs only Python, no packages.
"""

import base64
import os
import secrets
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(host: str = "") -> None:
    """Write the file, readable by its owner only. Exits with a message if it exists already."""
    values = {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "FIELD_ENCRYPTION_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        # Hexadecimal, because they are parts of URLs.
        "POSTGRES_PASSWORD": secrets.token_hex(24),
        "REDIS_PASSWORD": secrets.token_hex(24),
    }
    if host:
        values |= {"SITE_ADDRESS": host, "BASE_URL": f"https://{host}", "ALLOWED_HOSTS": f"{host},127.0.0.1"}
    lines = (ROOT / ".env.example").read_text().splitlines()
    filled = [f"{name}={values[name]}" if (name := line.partition("=")[0]) in values else line for line in lines]
    try:
        descriptor = os.open(ROOT / ".env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.exit(".env exists already, and its secrets may be in use. Nothing was changed.")
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(filled) + "\n")
    sys.stdout.write("Wrote .env\n")


if __name__ == "__main__":
    if len(sys.argv) > 2 or any(argument.startswith("-") or "/" in argument for argument in sys.argv[1:]):
        sys.exit("Usage: python3 scripts/write_env.py [HOST], for example pipeline.example.com")
    main(*sys.argv[1:])
