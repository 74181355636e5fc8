"""The instance: its secrets, its address and its version."""

import tomllib
from pathlib import Path

from pipeline_backend.env import read_encryption_keys, read_hosts, read_list, read_secret, read_url

ROOT = Path(__file__).resolve().parents[2]
# Not from the package's metadata: the image contains the source only.
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

SECRET_KEY = read_secret("SECRET_KEY")
SECRET_KEY_FALLBACKS = read_list("SECRET_KEY_FALLBACKS")  # signatures made with them stay valid
FIELD_ENCRYPTION_KEYS = read_encryption_keys("FIELD_ENCRYPTION_KEYS")
DEBUG = False  # not configurable: debug pages would show settings and data to clients
LOCAL_RUN = False  # dev.settings sets it to True: `make run`, with the local inbox
BASE_URL = read_url(
    "BASE_URL",
    "https://pipeline.example.com",
    pattern=r"https?:[^/@\s]+(/\S*)?",
    default="http://127.0.0.1:8000",
    has_query=False,
)
HTTPS = BASE_URL.startswith("https://")
ALLOWED_HOSTS = read_hosts("ALLOWED_HOSTS", "localhost,127.0.0.1")
