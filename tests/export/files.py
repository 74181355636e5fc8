"""Downloads an export and reads it, as CSV with the standard library and as XLSX with openpyxl."""

import csv
import io
from typing import Any

import openpyxl
from django.db.models import Model
from django.test import Client

from tests.staff.pages import admin_url


def download(client: Client, model: type[Model], kind: str, query: str = "view=all") -> bytes:
    """Return the file with the rows of the model's list."""
    response = client.get(f"{admin_url(model, 'changelist')}export.{kind}?{query}")
    assert response.status_code == 200, (response.status_code, response.headers)
    assert response.headers["Content-Disposition"].endswith(f'.{kind}"')
    return b"".join(response.streaming_content)


def read_table(kind: str, content: bytes) -> list[tuple[Any, ...]]:
    """Return the rows of a file, the header first."""
    if kind == "csv":
        return [tuple(row) for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))]
    sheet = openpyxl.load_workbook(io.BytesIO(content), read_only=True).active
    return list(sheet.iter_rows(values_only=True))


def exported(client: Client, model: type[Model], kind: str = "csv", query: str = "view=all") -> list[dict[str, Any]]:
    """Return the rows of an export by header."""
    header, *rows = read_table(kind, download(client, model, kind, query))
    return [dict(zip(header, row, strict=True)) for row in rows]
