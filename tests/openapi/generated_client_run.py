"""Runs every operation with the client that OpenAPI Generator wrote. Arguments: address and API key."""

import sys
from datetime import UTC, datetime

import pytest
from openapi_client import (
    ApiClient,
    AppointmentsApi,
    BookingInputRequest,
    CancellationInputRequest,
    Configuration,
    EventsApi,
    LeadsApi,
    LookUpsApi,
    OptInInputRequest,
    OptInsApi,
    SalesStatusesApi,
    StatusUpdateInputRequest,
)
from openapi_client.exceptions import ConflictException

address, key = sys.argv[1:]
client = ApiClient(Configuration(host=address, api_key={"ApiKey": key}))
appointments, opt_ins, leads = AppointmentsApi(client), OptInsApi(client), LeadsApi(client)
booking = BookingInputRequest(
    external_reference="booking-1",
    schedule_time=datetime(2027, 1, 5, 10, tzinfo=UTC),
    lead_email="ada@example.com",
    event_type_name="Strategy call",
)
booked = appointments.create_appointment(booking).data
assert appointments.create_appointment(booking).data.is_duplicate
with pytest.raises(ConflictException):
    appointments.create_appointment(booking.model_copy(update={"schedule_time": datetime(2027, 1, 6, tzinfo=UTC)}))
submitted = opt_ins.submit_opt_in(
    OptInInputRequest(
        email="ada@example.com", first_name="Ada", source="LANDING_PAGE", traffic={"utm_source": "letter"}
    )
).data
won = next(status for status in SalesStatusesApi(client).list_statuses().data if status.role == "WON")
leads.update_lead_status(submitted.lead_id, StatusUpdateInputRequest(status_id=won.id))
appointments.cancel_appointment(CancellationInputRequest(external_reference="booking-1"))
assert appointments.get_appointment(booked.id).data.outcome.role == "CANCELED"
assert opt_ins.get_opt_in(submitted.opt_in_id).data.traffic_attribution.utm_source == "letter"
assert leads.get_lead(submitted.lead_id).data.status == won
assert appointments.list_appointments(outcome_role=["CANCELED", "WON"]).pagination.total == 1
assert opt_ins.list_opt_ins().data[0].id == submitted.opt_in_id
assert leads.list_leads(status_role=["WON"]).data[0].id == submitted.lead_id
assert EventsApi(client).list_events(type=["appointment.canceled"]).data[0].data["id"] == str(booked.id)
look_ups = LookUpsApi(client)
assert look_ups.get_organization_and_key().data.organization.name == "Acme"
assert look_ups.list_members().data[0].can_be_named
assert look_ups.list_event_types().data[0].name == "Strategy call"
assert look_ups.list_sources().pagination.total == 2
assert look_ups.list_custom_fields().data == []
sys.stdout.write("17 operations")
