"""Copies of an organization's data, as an integrator keeps them: docs/webhooks.md, "Keep a copy of our data".

`Copy` stores what it is given in any order and any number of times. The other classes feed it: from webhooks, from the
list of events, and from the lists of objects.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from tests.client import ApiClient

Row = dict[str, Any]
NAMES = [
    *("member.updated", "event_type.updated"),
    *("status.created", "status.updated", "status.deleted"),
    *("custom_field.created", "custom_field.updated", "custom_field.deleted"),
]
GONE = ["lead.erased", "lead.deleted", "appointment.deleted"]
LISTS = ["leads", "appointments", "opt-ins"]
# A change that began before the newest one that was seen can become visible after it.
OVERLAP = timedelta(minutes=5)


class Copy:
    """Leads, appointments and opt-ins by id, and the present names of what they refer to."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Row]] = {name: {} for name in LISTS}
        self.notes: dict[str, dict[str, tuple[tuple[str, str], Row]]] = {}
        self.attributions: dict[str, Row] = {}
        self.named: dict[str, tuple[tuple[str, str], Row]] = {}
        self.opt_in_versions: dict[str, tuple[str, str]] = {}
        self.erased: set[str] = set()  # ids of leads, and of deleted appointments

    def erase(self, lead_id: str) -> None:
        """Delete a lead and all that belongs to it. What arrives about it later is skipped."""
        self.erased |= {lead_id, *self.rows["leads"].get(lead_id, {}).get("previous_ids", [])}
        for name, rows in self.rows.items():
            self.rows[name] = {id: row for id, row in rows.items() if lead_id_of(name, row) not in self.erased}

    def store(self, name: str, row: Row) -> None:
        """Store a lead, an appointment or an opt-in, unless a newer version is there."""
        rows = self.rows[name]
        stored = rows.get(row["id"])
        if {row["id"], lead_id_of(name, row)} & self.erased:
            return
        if stored is None or stored.get("updated_at", "") < row.get("updated_at", ""):
            rows[row["id"]] = row

    def take(self, event: Row) -> None:
        """Store what an event tells."""
        (subject, action), data = event["type"].split("."), event["data"]
        if "attribution" in event:
            self.attributions[data["id"]] = event["attribution"]
        if event["type"] == "appointment.deleted":
            self.erased.add(data["id"])
            self.rows["appointments"].pop(data["id"], None)
        elif event["type"] in ("lead.erased", "lead.deleted"):
            self.erase(data["id"])
        elif event["type"] in NAMES:
            self.store_name(data | {"is_deleted": action == "deleted"}, (event["timestamp"], event["id"]))
        elif action.startswith("note_"):
            self.store("leads", data["lead"])
        elif subject == "note":
            self.store("appointments", data["appointment"])
            self.store_note(data | {"is_deleted": action == "deleted"}, (event["timestamp"], event["id"]))
        elif subject == "opt_in":
            self.store_opt_in(data, (event["timestamp"], event["id"]))
        elif subject != "webhook":
            self.store({"lead": "leads", "appointment": "appointments"}[subject], data)

    def store_opt_in(self, data: Row, version: tuple[str, str]) -> None:
        """Store an opt-in as its newest event has it."""
        if version > self.opt_in_versions.get(data["id"], ("", "")):
            self.opt_in_versions[data["id"]] = version
            self.rows["opt-ins"].pop(data["id"], None)
            self.store("opt-ins", data)

    def store_name(self, data: Row, version: tuple[str, str]) -> None:
        """Store the present values of what objects refer to. They replace those that the objects have of it."""
        if data["id"] not in self.named or self.named[data["id"]][0] < version:
            self.named[data["id"]] = version, data

    def store_note(self, note: Row, version: tuple[str, str]) -> None:
        """Store an appointment's note as its newest event has it."""
        notes = self.notes.setdefault(note["appointment"]["id"], {})
        if note["id"] not in notes or notes[note["id"]][0] < version:
            notes[note["id"]] = version, note

    def present(self, value: Row | None) -> Row | None:
        """Return what an object refers to, with its present names."""
        if value is None or value["id"] not in self.named:
            return value
        _, data = self.named[value["id"]]
        return {name: data.get(name, old) for name, old in value.items()}

    def current_leads(self) -> dict[str, str]:
        """Return the id of the present lead by each id, its own and those of the leads that were merged into it."""
        leads = self.rows["leads"]
        gone = {id for row in leads.values() for id in row["previous_ids"]}
        return {
            id: row["id"] for row in leads.values() if row["id"] not in gone for id in (row["id"], *row["previous_ids"])
        }

    def lead(self, id: str) -> Row:
        """Return a lead as its detail shows it."""
        row = self.rows["leads"][id]
        return {
            **row,
            "status": self.present(row["status"]),
            "setter": self.present(row["setter"]),
            "custom_fields": self.custom_fields("LEAD", row),
        }

    def appointment(self, id: str) -> Row:
        """Return an appointment with the fields of the list and of the detail."""
        row = self.rows["appointments"][id]
        lead = self.rows["leads"][self.current_leads()[row["lead"]["id"]]]
        event_type = row["appointment_event_type"]
        _, named = self.named.get(event_type["id"], (None, {}))
        outcome = self.present(row["outcome"])
        return {
            **self.attributions.get(id, {}),
            **row,
            **{role: self.present(row[role]) for role in ("host", "setter", "triager")},
            "lead": {name: lead[name] for name in row["lead"]},
            "appointment_type": named.get("name", row["appointment_type"]),
            "appointment_event_type": self.present(event_type),
            "outcome": outcome and {**outcome, "description": outcome["description"] or ""},
            "notes": self.latest_note(row),
            "opt_ins": self.latest_opt_ins(row),
            "custom_fields": self.custom_fields("APPOINTMENT", row),
        }

    def custom_fields(self, entity: str, row: Row) -> list[Row]:
        """Return the custom fields that leads or appointments have at present, with the row's values."""
        values = {field["id"]: field["value"] for field in row["custom_fields"]}
        fields = [data for _, data in self.named.values() if data.get("entity") == entity and not data["is_deleted"]]
        return [
            {**{name: field[name] for name in ("id", "key", "label", "type")}, "value": values.get(field["id"])}
            for field in sorted(fields, key=lambda field: (field["position"], field["key"]))
        ]

    def latest_note(self, appointment: Row) -> Row | None:
        """Return the latest note of an appointment as the list shows it."""
        notes = [note for _, note in self.notes.get(appointment["id"], {}).values() if not note["is_deleted"]]
        note = max(notes, key=lambda note: (note["created_at"], note["id"]), default=None)
        users = [self.present(user) for user in note["mention_users"]] if note else []
        return note and {"note": note["note"], "mention_users": users}

    def opt_ins_of(self, lead_id: str) -> list[Row]:
        """Return a lead's opt-ins, newest first."""
        current = self.current_leads()
        rows = [{**row, "lead_id": current[row["lead_id"]]} for row in self.rows["opt-ins"].values()]
        opt_ins = [row for row in rows if row["lead_id"] == current[lead_id]]
        return sorted(opt_ins, key=lambda row: (row["created_at"], row["id"]), reverse=True)

    def latest_opt_ins(self, appointment: Row) -> list[Row]:
        """Return the three latest opt-ins of an appointment's lead, as the detail shows them."""
        hidden = ("question_answers", "traffic_attribution")
        latest = self.opt_ins_of(appointment["lead"]["id"])[:3]
        return [{name: value for name, value in row.items() if name not in hidden} for row in latest]

    def contents(self) -> dict[str, dict[str, Row]]:
        """Return all objects by id, with the fields of list and detail."""
        current = self.current_leads()
        return {
            "leads": {id: self.lead(id) for id in current.values()},
            "appointments": {id: self.appointment(id) for id in self.rows["appointments"]},
            "opt-ins": {id: {**row, "lead_id": current[row["lead_id"]]} for id, row in self.rows["opt-ins"].items()},
        }


def lead_id_of(name: str, row: Row) -> str:
    """Return the id of the lead that a row is or belongs to."""
    ids = {"leads": lambda: row["id"], "appointments": lambda: row["lead"]["id"], "opt-ins": lambda: row["lead_id"]}
    return str(ids[name]())


class WebhookCopy(Copy):
    """A copy that webhooks keep up to date. The receiver may get them in any order, and some twice."""

    def receive(self, bodies: Iterable[tuple[str, Row]]) -> None:
        """Take events with their header `webhook-id`."""
        for id, body in bodies:
            self.take({"id": id, **body})


class FeedCopy(Copy):
    """A copy that reads the list of events."""

    def __init__(self, api: ApiClient, **query: str) -> None:
        super().__init__()
        self.api = api
        self.query: dict[str, str] = query

    def catch_up(self) -> None:
        """Take all events since the last time."""
        has_more = True
        while has_more:
            page = self.api.get("/api/external/events", self.query).json()
            for event in page["data"]:
                self.take(event)
                self.query["after"] = event["id"]
            has_more = page["has_more"]


class ListCopy(FeedCopy):
    """A copy that reads changed rows from the lists.

    From the events it reads the names of what rows refer to, new answers of opt-ins, and what is erased or deleted.
    """

    def __init__(self, api: ApiClient) -> None:
        super().__init__(api, type=",".join([*NAMES, *GONE, "opt_in.updated"]))
        self.limit = 100
        self.since: dict[str, str] = {}

    def catch_up(self) -> None:
        """Take the rows that have changed since the last time, with some overlap, and then the names."""
        for name, column in [("leads", "updated"), ("opt-ins", "created"), ("appointments", "updated")]:
            rows = list(self.changed(name, column))
            for row in rows:
                stored = self.rows[name].get(row["id"])
                version = {f"{column}_at": row[f"{column}_at"]}
                if stored is None or stored[f"{column}_at"] != row[f"{column}_at"]:
                    response = self.api.get(f"/api/external/{name}/{row['id']}")
                    if response.status_code == 404:
                        continue  # deleted since the list was read; an event follows
                    # The detail can be newer, and what only the list shows is then as old as the row.
                    row |= response.json()["data"] | version
                    self.store(name, row)
                    if stored and stored.get("previous_ids") != row.get("previous_ids"):
                        self.read_opt_ins_again(stored["previous_ids"])
            if rows:
                newest_at_start = datetime.fromisoformat(rows[0][f"{column}_at"])
                self.since[name] = (newest_at_start - OVERLAP).isoformat()
        super().catch_up()

    def read_opt_ins_again(self, lead_ids: Iterable[str]) -> None:
        """Read the opt-ins of leads that may have been separated again: they have no version that tells it."""
        for lead_id in lead_ids:
            response = self.api.get("/api/external/opt-ins", {"lead_id": lead_id, "limit": 100})
            # An id that led to a lead that is erased is unknown.
            for row in response.json()["data"] if response.status_code == 200 else []:
                self.rows["opt-ins"][row["id"]] |= row

    def changed(self, name: str, column: str) -> Iterable[Row]:
        """Yield the rows of a list from `since` on, newest first.

        A row that changes meanwhile moves to the first page. The others move to later pages, so none is left out.
        """
        query: dict[str, Any] = {"ordering": f"-{column}_at", "limit": self.limit, "page": 1}
        if name in self.since:
            query[f"{column}_from"] = self.since[name]
        has_next = True
        while has_next:
            page = self.api.get(f"/api/external/{name}", query).json()
            yield from page["data"]
            has_next, query["page"] = page["pagination"]["hasNext"], query["page"] + 1

    def latest_note(self, appointment: Row) -> Row | None:
        note: Row | None = appointment["notes"]
        users = [self.present(user) for user in note["mention_users"]] if note else []
        return note and {**note, "mention_users": users}
