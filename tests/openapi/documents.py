"""The OpenAPI document as a file, as a generator of clients gets it."""

import json
from pathlib import Path

from pipeline_backend.web.openapi_views import rendered_schema

STORED = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
SERVERS = [{"url": "https://pipeline.example"}]


def document_text() -> str:
    """Return the document that the service serves, with an example's address in place of the installation's."""
    return json.dumps(json.loads(rendered_schema()) | {"servers": SERVERS}, indent=2, ensure_ascii=False) + "\n"
