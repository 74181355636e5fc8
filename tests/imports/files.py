"""Files to import, and an import done as people and workers do it: by the pages, and by the task's message."""

import csv
import re
from collections.abc import Sequence
from datetime import timedelta
from io import BytesIO, StringIO
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from openpyxl import Workbook, load_workbook

from leads.imports.models import WORKING, Import, ImportTurn
from organizations.models import Organization
from pipeline_backend.celery import app
from tests.staff.forms import form_data

LIST = "/admin/leads/import/"
ADD = f"{LIST}add/"

Cells = Sequence[object]


def csv_file(*rows: Cells, delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    """Return a CSV file."""
    text = StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue().encode(encoding)


def workbook(*rows: Cells) -> bytes:
    """Return an XLSX file with these values."""
    book, content = Workbook(), BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def upload(client: Client, content: bytes, *, kind: str = "LEADS", name: str = "leads.csv") -> Any:
    """Send the form with a file, and return the response."""
    data = form_data(client, ADD, kind=kind)
    return client.post(ADD, {**data, "upload": SimpleUploadedFile(name, content)})


def work(organization: Organization) -> None:
    """Do what workers do when they get the messages of all imports."""
    app.loader.import_default_modules()
    while Import.objects.of(organization).filter(state__in=WORKING).exists():
        app.tasks["leads.run_imports"].apply(throw=True)
    app.tasks["leads.run_imports"].apply(throw=True)  # deletes the rows of those that have ended


def expire_turns() -> None:
    """Let the turns of killed workers expire."""
    ImportTurn.unscoped.update(expires_at=timezone.now() - timedelta(minutes=5))


class Page:
    """The page of an import, used by a person; after each step a worker does its part."""

    def __init__(self, client: Client, organization: Organization, content: bytes, **options: Any) -> None:
        self.client, self.organization = client, organization
        response = upload(client, content, **options)
        assert response.status_code == 302, response.context and response.context["adminform"].form.errors
        self.url = response.headers["Location"]
        self.work()

    def work(self) -> None:
        """Do what a worker does."""
        work(self.organization)

    @property
    def row(self) -> Import:
        """The import as it is stored."""
        id = self.url.split("/")[-3].replace("_2D", "-")
        found: Import = Import.objects.of(self.organization).get(pk=id)
        return found

    def get(self, query: str = "") -> Any:
        """Return the page."""
        return self.client.get(self.url + query)

    def guessed(self) -> dict[str, str]:
        """Return the field that is chosen for each column."""
        return {column["name"]: column["chosen"] for column in self.get().context["columns"]}

    def press(self, step: str, **data: str) -> Any:
        """Press a button of the page, and let a worker do what follows."""
        response = self.client.post(self.url, {"step": step, **data})
        self.work()
        return response

    def check(self, *, invitations: bool = False, reading: dict[str, str] | None = None, **chosen: str) -> None:
        """Choose columns and ways of writing, by default those that are guessed, and let the rows be checked."""
        context = self.get("?columns").context
        data = {column["field"]: chosen.get(column["name"], column["chosen"]) for column in context["columns"]}
        data |= {field.name: field.value() or "" for field in context["reading"]} | (reading or {})
        response = self.press("columns", **data, **({"invitations": "on"} if invitations else {}))
        assert response.status_code == 302, response.context["problems"]

    def choose(self, **targets: str) -> None:
        """Say what values that aren't known mean, by the name of the target, and let the rows be checked again."""
        data = {
            f"value-{value.column}-{value.key}": next(
                id for id, name in column.targets.items() if name == targets[value.text]
            )
            for column in self.get().context["unknown_columns"]
            for value in column.values
            if value.text in targets
        }
        assert len(data) == len(targets)
        assert self.press("values", **data).status_code == 302

    def run(self, **options: Any) -> "Page":
        """Check the rows, and import them."""
        self.check(**options)
        self.press("start")
        return self

    def report(self, query: str = "") -> list[tuple[int, str, str]]:
        """Return number, verdict and details of each row that the page shows."""
        return [(row.number, row.verdict, row.details) for row, _ in self.get(query).context["rows"]]

    def refused_rows(self) -> list[list[str]]:
        """Return the cells of the file with the rows to correct, which has the format of the upload."""
        response: Any = self.client.get(re.sub("change/$", "refused/", self.url))
        content = response.getvalue()
        if self.row.format == "xlsx":
            rows = load_workbook(BytesIO(content)).active.iter_rows(values_only=True)
            return [[str(cell or "") for cell in row] for row in rows]
        return list(csv.reader(StringIO(content.decode("utf-8-sig")), delimiter=self.row.format))
