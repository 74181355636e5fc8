"""The objects of the interface have exactly its fields (docs/interface.md, G40)."""

from typing import Any

import pytest

from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_analysis, make_custom_field, make_event_type, make_member, make_note, make_status

# The tables of the interface document, section 2.
LEAD = "id first_name last_name email phone_e164 phone_country next_touch_point_at next_touch_point_type"
USER = "first_name last_name email profile_image_url id role"
EVENT_TYPE = "id provider owner_name"
OUTCOME = "id name role description text_color bg_color created_at"
NOTE = "note mention_users"
CALL_ANALYSIS = (
    "id call_analysis_call_id ai_generated_title ai_rationale ai_suggested_outcome ai_confidence_score "
    "appointment_id created_at"
)
SOURCE = "id name"
CUSTOM_FIELD = "id key label type value"
OPT_IN = "id lead_id source provider_form_id provider_form_name external_reference created_at"
QUESTION_ANSWER = "id question answer position"
TRAFFIC = "utm_source utm_medium utm_campaign utm_content utm_term referrer landing_page"
STATUS = "id name role type description text_color bg_color"
APPOINTMENT = (
    "id lead schedule_time host setter triager meeting_url appointment_type call_category appointment_event_type "
    "outcome recording_url no_show source external_reference call_analysis custom_fields created_at updated_at"
)
APPOINTMENT_ITEM = f"{APPOINTMENT} notes utm_source utm_medium utm_campaign utm_content utm_term"
APPOINTMENT_DETAIL = f"{APPOINTMENT} first_source last_source opt_ins"
IN_APPOINTMENT = {
    "lead": LEAD,
    "host": USER,
    "setter": USER,
    "triager": USER,
    "appointment_event_type": EVENT_TYPE,
    "outcome": OUTCOME,
    "call_analysis": CALL_ANALYSIS,
    "custom_fields": CUSTOM_FIELD,
}
# A lead of the lead endpoints, which the interface document does not describe (L3).
LEAD_ITEM = (
    f"{LEAD} status setter first_source last_source next_step_at next_step_type next_step_note custom_fields "
    "created_at updated_at"
)
IN_LEAD = {"status": STATUS, "setter": USER, "first_source": SOURCE, "last_source": SOURCE}
PAGINATION = "page limit total totalPages hasNext hasPrev"


def keys(text: str) -> list[str]:
    return sorted(text.split())


def assert_exact(item: dict[str, Any], fields: str, **inner_fields: str) -> None:
    """Assert the names of an object's fields, and of the objects in them; each of these must be there."""
    assert sorted(item) == keys(fields)
    for name, inner in inner_fields.items():
        objects = item[name] if isinstance(item[name], list) else [item[name]]
        assert objects
        assert [sorted(each) for each in objects] == [keys(inner)] * len(objects), name


@pytest.fixture
def appointment_id(api: ApiClient, organization: Organization) -> str:
    """Create an appointment that has every object that an appointment can have, and return its id."""
    host = make_member(organization, "hana@acme.example")
    make_custom_field(organization, "APPOINTMENT", "budget")
    make_custom_field(organization, "LEAD", "budget")
    event_type = make_event_type(organization, "Demo", provider="SCHEDULER_A", owner_name="Hana")
    answers = [{"question": "What do you need?", "answer": "More calls"}]
    api.submit(traffic={"utm_source": "x", "utm_content": host.user.id}, questions_answers=answers)
    roles = {f"{role}_email": "hana@acme.example" for role in ("host", "setter", "triager")}
    id: str = api.book(**roles, event_type_name=..., event_type_id=str(event_type.pk)).json()["data"]["id"]
    make_note(organization, id, "Ask @Hana", host)
    make_analysis(organization, id)
    return id


def test_an_appointment_has_exactly_its_fields_in_list_and_detail(api: ApiClient, appointment_id: str) -> None:
    """docs/interface.md, G40, A1 to A6"""
    (item,) = api.get_data("/api/external/appointments")
    detail = api.get_appointment(appointment_id)

    assert_exact(item, APPOINTMENT_ITEM, **IN_APPOINTMENT, notes=NOTE)
    assert_exact(item["notes"], NOTE, mention_users=USER)
    assert_exact(detail, APPOINTMENT_DETAIL, **IN_APPOINTMENT, first_source=SOURCE, last_source=SOURCE, opt_ins=OPT_IN)


def test_an_opt_in_has_exactly_its_fields_in_list_and_detail(api: ApiClient, appointment_id: str) -> None:
    """docs/interface.md, G40, O1, O2"""
    (item,) = api.get_data("/api/external/opt-ins")
    detail = api.get_opt_in(item["id"])

    assert_exact(item, OPT_IN)
    in_detail = {"question_answers": QUESTION_ANSWER, "traffic_attribution": TRAFFIC}
    assert_exact(detail, f"{OPT_IN} question_answers traffic_attribution", **in_detail)


def test_a_lead_has_exactly_its_fields_in_list_and_detail(api: ApiClient, appointment_id: str) -> None:
    """docs/interface.md, G40, L2, L3"""
    (item,) = api.get_data("/api/external/leads")
    detail = api.get_lead(item["id"])

    assert_exact(item, LEAD_ITEM, **IN_LEAD, custom_fields=CUSTOM_FIELD)
    assert_exact(detail, f"{LEAD_ITEM} previous_ids", **IN_LEAD, custom_fields=CUSTOM_FIELD)


def test_a_status_has_exactly_its_fields_also_if_it_is_retired(
    api: ApiClient, organization: Organization, appointment_id: str
) -> None:
    """docs/interface.md, G40, S1, S4"""
    make_status(organization, "Warm", is_active=False)
    lead_id, won = api.get_appointment(appointment_id)["lead"]["id"], api.get_status("WON")

    statuses = api.get_data("/api/external/statuses")
    changed = api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": won["id"]}).json()["data"]

    assert "Warm" in [status["name"] for status in statuses]
    assert [sorted(status) for status in statuses] == [keys(STATUS)] * 11
    assert_exact(changed, "id status", status=STATUS)
    assert changed["status"] == won


def test_a_response_has_exactly_its_members(api: ApiClient) -> None:
    """docs/interface.md, G3, G4, G24"""
    booked, canceled, submitted = api.book().json(), api.cancel().json(), api.submit(source="WEBINAR").json()
    pages = [api.get(f"/api/external/{name}").json() for name in ("appointments", "opt-ins", "leads")]

    assert_exact(booked, "status message data", data="id is_duplicate")
    assert_exact(canceled, "status message data", data="id")
    assert_exact(submitted, "status message data", data="opt_in_id lead_id is_new_lead")
    for page in pages:
        assert_exact(page, "success message data pagination", pagination=PAGINATION)
    assert_exact(api.get("/api/external/statuses").json(), "success message data")
    assert_exact(api.get(f"/api/external/appointments/{booked['data']['id']}").json(), "success message data")
    assert_exact(api.cancel(external_reference="unknown").json(), "status message")
    assert_exact(api.cancel(external_reference=5).json(), "status message errors")


@pytest.mark.django_db(transaction=True)
def test_events_of_a_status_say_whether_it_is_active(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, G40, S14, S15"""
    status = make_status(organization, "Warm", is_active=False)

    (event,) = api.list_events()

    assert (event["type"], event["data"]["id"]) == ("status.created", str(status.pk))
    assert_exact(event["data"], f"{STATUS} is_active")
    assert event["data"]["is_active"] is False
