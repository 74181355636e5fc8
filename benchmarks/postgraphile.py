"""Compares the service with PostGraphile on the same database (docs/performance.md, "Beside a generated API").

PostGraphile 5 makes an API of a database's tables. It comes from npm, into a folder of its own:

npm install --prefix /tmp/postgraphile postgraphile@5 node@22
.venv/bin/python -m dev.local with-servers .venv/bin/python -m benchmarks.postgraphile /tmp/postgraphile
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from benchmarks.__main__ import output
from benchmarks.environment import PRODUCT_APP, Database, Environment, WebServer
from benchmarks.load_generator import get_request, post_request
from benchmarks.measurement import QUICK, TABLE_HEAD, at_least, compare, table_row
from benchmarks.memory import is_listening
from benchmarks.suites.reads import LIST_PATH, throughput
from benchmarks.suites.writes import BOOKING_PATH, booking, post_requests
from dev.local import processes
from dev.local.server import free_port

CONFIG = """
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgService } from "postgraphile/adaptors/pg";
export default {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: ["public"] })],
  grafserv: { port: Number(process.env.PORT), host: "127.0.0.1", graphiql: false },
};
"""
LIST = """
query ($organization: UUID!) {
  allAppointmentsAppointments(
    condition: { organizationId: $organization CONDITION }, first: 10, orderBy: [CREATED_AT_DESC]
  ) {
    totalCount
    nodes {
      rowId createdAt updatedAt scheduleTime callCategory meetingUrl recordingUrl noShow source externalReference
      lead: leadsLeadByOrganizationIdAndLeadId {
        rowId email firstName lastName phoneE164 status: statusesStatusByOrganizationIdAndStatusId { rowId name }
      }
      host: organizationsMembershipByOrganizationIdAndHostId { rowId }
      setter: organizationsMembershipByOrganizationIdAndSetterId { rowId }
      triager: organizationsMembershipByOrganizationIdAndTriagerId { rowId }
      outcome: statusesStatusByOrganizationIdAndOutcomeId { rowId name role }
      eventType: appointmentsEventtypeByOrganizationIdAndEventTypeId { rowId name }
    }
  }
}
"""
CREATE = """
mutation ($lead: LeadsLeadInput!, $appointment: AppointmentsAppointmentInput!) {
  createLeadsLead(input: { leadsLead: $lead }) { leadsLead { rowId } }
  createAppointmentsAppointment(input: { appointmentsAppointment: $appointment }) {
    appointmentsAppointment { rowId createdAt scheduleTime lead: leadsLeadByOrganizationIdAndLeadId { rowId email } }
  }
}
"""
PATH = "/graphql"
LISTS = [
    ("list of 10, with total", "", ""),
    ("list of 10 of a category, with total", "&call_category=SALES_CALL", ', callCategory: "SALES_CALL"'),
]


def query(text: str, **variables: object) -> bytes:
    return post_request(PATH, "", json.dumps({"query": text, "variables": variables}).encode())


def creations(database: Database) -> Iterator[bytes]:
    """Yield requests that insert a lead and an appointment: no more than the two rows."""
    with psycopg.connect(database.url) as connection:
        sql = "SELECT status_id, first_source_id FROM leads_lead WHERE organization_id = %s LIMIT 1"
        row = connection.execute(sql, [database.dataset.organization_id]).fetchone()
    assert row
    at, source = "2027-01-01T10:00:00Z", str(row[1])
    common: dict[str, Any] = {"organizationId": database.dataset.organization_id, "createdAt": at, "updatedAt": at}
    common |= {"firstSourceId": source, "lastSourceId": source, "customValues": {}}
    while True:
        lead = common | {"rowId": str(uuid4()), "email": f"{uuid4()}@example.com", "statusId": str(row[0])}
        lead |= {"firstName": "", "lastName": "", "isFirstNameFromEmail": False}
        appointment = common | {"rowId": str(uuid4()), "leadId": lead["rowId"], "scheduleTime": at, "noShow": False}
        appointment |= {"callCategory": "SALES_CALL", "source": "MANUAL", "invitationSequence": 0}
        yield query(CREATE, lead=lead, appointment=appointment)


def start(folder: Path, database: Database, stack: ExitStack) -> WebServer:
    """Start PostGraphile, whose tables have the service's indexes and, for their owner, no policies."""
    (folder / "graphile.config.mjs").write_text(CONFIG)
    port, binaries = free_port(), folder / "node_modules" / ".bin"
    variables = {**os.environ, "DATABASE_URL": database.url, "PORT": str(port), "GRAPHILE_ENV": "production"}
    process = processes.start([str(binaries / "node"), str(binaries / "postgraphile")], cwd=folder, env=variables)
    stack.callback(process.wait)
    stack.callback(process.kill)
    processes.wait_until(lambda: is_listening(port), 60)
    return WebServer(process, port)


def main(folder: Path) -> None:
    """Print the table. Each side has one process, which is warmed up."""
    with tempfile.TemporaryDirectory() as temporary, Environment(Path(temporary)) as environment, ExitStack() as stack:
        database = environment.create_database("peer", QUICK.appointments)
        server, peer = environment.web_server(PRODUCT_APP, database, 1), start(folder, database, stack)
        key, organization = database.dataset.api_key, database.dataset.organization_id
        output(TABLE_HEAD)
        for name, parameter, condition in LISTS:
            ours = repeat(get_request(f"{LIST_PATH}?limit=10{parameter}", key))
            theirs = repeat(query(LIST.replace("CONDITION", condition), organization=organization))
            sides = throughput(server, ours, QUICK), throughput(peer, theirs, QUICK)
            output(table_row(compare(name, "/s", sides[0], "PostGraphile", sides[1], at_least(1), QUICK)))
        booked = throughput(server, post_requests(BOOKING_PATH, [key], booking), QUICK)
        created = throughput(peer, creations(database), QUICK)
        output(table_row(compare("create", "/s", booked, "PostGraphile", created, at_least(1), QUICK)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
