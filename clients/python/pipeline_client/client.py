"""The common tasks, typed by the models that are generated from the OpenAPI document."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self, TypeVar
from uuid import UUID

import httpx

from pipeline_client.generated import AuthenticatedClient, models
from pipeline_client.transport import RetryingTransport

Id = UUID | str
Time = datetime | str
T = TypeVar("T")
Parse = Callable[[Mapping[str, Any]], T]


class Pipeline:
    """A client with one API key, for several threads. Repeats requests for up to `deadline` seconds.

    Methods return models of `pipeline_client.generated` and raise PipelineError for a response that is not a success,
    httpx.TransportError without one. `fields` and `filters` have the API's names; a time without an offset is in UTC.
    `generated` runs every other operation, with the same repetitions and errors.
    """

    def __init__(
        self, base_url: str, api_key: str, deadline: float = 90, transport: httpx.BaseTransport | None = None
    ) -> None:
        # The transport sends the key, so that the generated client has none to show.
        repeating = RetryingTransport(api_key, deadline, transport or httpx.HTTPTransport())
        self._http = httpx.Client(base_url=base_url, timeout=30, transport=repeating)
        self.generated = AuthenticatedClient(base_url, token="").set_httpx_client(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def me(self) -> models.Me:
        return models.Me.from_dict(self._read("external/me")["data"])

    def book(self, external_reference: str, schedule_time: Time, **fields: object) -> models.Booked:
        fields |= {"external_reference": external_reference, "schedule_time": schedule_time}
        return self._write(models.Booked.from_dict, "external/appointments", models.BookingInputRequest, fields)

    def reschedule(self, external_reference: str, schedule_time: Time, **fields: object) -> models.Rescheduled:
        fields |= {"external_reference": external_reference, "schedule_time": schedule_time}
        path, model = "external/appointments/reschedule", models.ReschedulingInputRequest
        return self._write(models.Rescheduled.from_dict, path, model, fields)

    def cancel(self, external_reference: str, **fields: object) -> models.Canceled:
        fields |= {"external_reference": external_reference}
        return self._write(
            models.Canceled.from_dict, "external/appointments/cancel", models.CancellationInputRequest, fields
        )

    def submit_opt_in(self, email: str, first_name: str, source: str, **fields: object) -> models.Submitted:
        fields |= {"email": email, "first_name": first_name, "source": source}
        return self._write(models.Submitted.from_dict, "opt-in/submit", models.OptInInputRequest, fields)

    def upsert_lead(self, email: str, **fields: object) -> models.UpsertedLead:
        fields |= {"email": email}
        return self._write(models.UpsertedLead.from_dict, "external/leads", models.LeadUpsertInputRequest, fields)

    def set_outcome(self, appointment_id: Id, outcome_role: str) -> models.AppointmentDetail:
        path, model = f"external/appointments/{UUID(str(appointment_id))}", models.AppointmentUpdateInputRequest
        return self._write(models.AppointmentDetail.from_dict, path, model, {"outcome_role": outcome_role}, "PATCH")

    def add_note_to_lead(self, lead_id: Id, note: str, **fields: object) -> models.LeadNoteItem:
        path, model = f"external/leads/{UUID(str(lead_id))}/notes", models.LeadNoteInputRequest
        return self._write(models.LeadNoteItem.from_dict, path, model, fields | {"note": note})

    def add_note_to_appointment(self, appointment_id: Id, note: str, **fields: object) -> models.NoteItem:
        path, model = f"external/appointments/{UUID(str(appointment_id))}/notes", models.NoteInputRequest
        return self._write(models.NoteItem.from_dict, path, model, fields | {"note": note})

    def get_lead(self, lead_id: Id) -> models.LeadDetail:
        return models.LeadDetail.from_dict(self._read(f"external/leads/{UUID(str(lead_id))}")["data"])

    def get_appointment(self, appointment_id: Id) -> models.AppointmentDetail:
        return models.AppointmentDetail.from_dict(
            self._read(f"external/appointments/{UUID(str(appointment_id))}")["data"]
        )

    def list_leads(self, **filters: object) -> Iterator[models.LeadItem]:
        """Yield all leads that the filters find, page after page; the other lists do the same."""
        return self._pages(models.LeadItem.from_dict, "external/leads", filters)

    def list_appointments(self, **filters: object) -> Iterator[models.AppointmentItem]:
        return self._pages(models.AppointmentItem.from_dict, "external/appointments", filters)

    def list_opt_ins(self, **filters: object) -> Iterator[models.OptInItem]:
        return self._pages(models.OptInItem.from_dict, "external/opt-ins", filters)

    def list_events(self, after: Id | None = None, **filters: object) -> Iterator[models.Event]:
        """Yield the events after the one with this id until now, oldest first."""
        has_more = True
        while has_more:
            page = self._read("external/events", **filters, after=after)
            yield from map(models.Event.from_dict, page["data"])
            after, has_more = page["last_event_id"], page["has_more"]

    def _pages(self, parse: Parse[T], path: str, filters: dict[str, object]) -> Iterator[T]:
        cursor = "start"
        while cursor:
            page = self._read(path, **{"limit": 100, "count": False, **filters, "cursor": cursor})
            yield from map(parse, page["data"])
            cursor = page["pagination"]["nextCursor"]

    def _read(self, path: str, **filters: Any) -> dict[str, Any]:
        texts = {name: as_text(value) if isinstance(value, datetime) else value for name, value in filters.items()}
        params = {name: value for name, value in texts.items() if value is not None}
        return dict(self._http.get(f"/api/{path}", params=params).json())

    def _write(self, parse: Parse[T], path: str, model: type, fields: Mapping[str, object], method: str = "POST") -> T:
        """Send the fields, which the model has to have: the service ignores unknown ones."""
        if unknown := fields.keys() - model.__annotations__.keys():
            raise TypeError(f"{model.__name__} has no {', '.join(sorted(unknown))}")
        content, headers = json.dumps(fields, default=as_text), {"content-type": "application/json"}
        response = self._http.request(method, f"/api/{path}", content=content, headers=headers)
        return parse(response.json()["data"])


def as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
