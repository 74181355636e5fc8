"""POST /api/opt-in/submit: leads, retries, setters and sources (docs/interface.md, L1 to L11 and O7 to O11)."""

from random import Random
from uuid import UUID

import pytest

from leads.models import Lead
from optins.models import OptIn
from tests.factories import deactivate, make_member, make_status, owner_of, set_columns, snapshot_of, summary_of

TRAFFIC = {name: f"https://example.com/{name}" for name in ["referrer", "landing_page"]}
TRAFFIC |= {name: f"the {name}" for name in ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]}


def get_lead(api, response):
    """Return the detail of the lead that a submission belongs to."""
    assert response.status_code in (200, 201), response.json()
    return api.get_lead(response.json()["data"]["lead_id"])


def test_a_submission_with_a_new_email_creates_the_lead_and_is_201(api, organization, other_organization):
    """docs/interface.md, O7"""
    response = api.submit()

    data = response.json()["data"]
    assert response.status_code == 201
    assert response.json() == {
        "status": "success",
        "message": response.json()["message"],
        "data": {**data, "is_new_lead": True},
    }
    assert sorted(data) == ["is_new_lead", "lead_id", "opt_in_id"]
    assert [UUID(data[name]).version for name in ["opt_in_id", "lead_id"]] == [7, 7]
    assert summary_of(organization) == {
        "appointments": 0,
        "leads": 1,
        "opt_ins": 1,
        "event_types": 0,
        "events": ["lead.created", "opt_in.created"],
        "notifications": [],
    }
    assert summary_of(other_organization)["leads"] == 0


def test_a_lead_created_by_a_submission_has_the_status_new_lead(api):
    """docs/interface.md, S8"""
    lead = get_lead(api, api.submit(last_name="Byron", phone_e164="+442079460000", phone_country="GB"))

    assert lead["status"] == api.get_status("NEW_LEAD")
    contact = {
        name: lead[name]
        for name in [
            "first_name",
            "last_name",
            "email",
            "phone_e164",
            "phone_country",
            "next_touch_point_at",
            "next_touch_point_type",
        ]
    }
    assert contact == {
        "first_name": "Ada",
        "last_name": "Byron",
        "email": "ada@example.com",
        "phone_e164": "+442079460000",
        "phone_country": "GB",
        "next_touch_point_at": None,
        "next_touch_point_type": None,
    }


@pytest.mark.parametrize("email", ["ada@example.com", "ADA@Example.COM", "  ada@example.com "])
def test_a_submission_for_an_existing_lead_is_200(api, organization, email):
    """docs/interface.md, O8, L1"""
    first = api.submit().json()["data"]

    response = api.submit(email=email, source="WEBINAR")

    data = response.json()["data"]
    assert (response.status_code, response.json()["status"]) == (200, "success")
    assert data == {"opt_in_id": data["opt_in_id"], "lead_id": first["lead_id"], "is_new_lead": False}
    assert data["opt_in_id"] != first["opt_in_id"]
    assert summary_of(organization)["events"] == ["lead.created", "lead.updated", "opt_in.created", "opt_in.created"]
    assert api.get_lead(first["lead_id"])["email"] == "ada@example.com"


def test_a_lead_created_by_a_booking_is_an_existing_lead(api):
    """docs/interface.md, O8"""
    lead = api.get_appointment(api.book().json()["data"]["id"])["lead"]["id"]

    response = api.submit()

    assert (response.status_code, response.json()["data"]["lead_id"], response.json()["data"]["is_new_lead"]) == (
        200,
        lead,
        False,
    )
    assert api.get_lead(lead)["status"]["role"] == "APPOINTMENT_BOOKED"


def test_a_submission_without_a_reference_is_stored_each_time(api, organization):
    """docs/interface.md, G37"""
    ids = {api.submit().json()["data"]["opt_in_id"] for _ in range(3)}

    assert len(ids) == summary_of(organization)["opt_ins"] == 3


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="same"),
        pytest.param({"email": "new@example.com", "first_name": "Grace"}, id="another_lead"),
        pytest.param(
            {"last_name": "Byron", "phone_e164": "+442079460000", "phone_country": "GB", "traffic": TRAFFIC},
            id="more_values",
        ),
        pytest.param({"questions_answers": [{"question": "Why?", "answer": "So", "position": 1}]}, id="answers"),
    ],
)
def test_a_known_reference_and_source_returns_the_stored_opt_in_and_changes_nothing(api, organization, fields):
    """docs/interface.md, O9"""
    first = api.submit(external_reference="form-1").json()["data"]
    before = snapshot_of(organization)

    response = api.submit(external_reference="form-1", **fields)

    assert response.status_code == 200
    assert response.json()["data"] == {**first, "is_new_lead": False}
    assert snapshot_of(organization) == before


def test_the_same_reference_with_another_source_is_another_opt_in(api, organization):
    """docs/interface.md, O9"""
    first = api.submit(external_reference="form-1").json()["data"]["opt_in_id"]

    second = api.submit(external_reference="form-1", source="WEBINAR").json()["data"]["opt_in_id"]

    assert first != second
    assert summary_of(organization)["opt_ins"] == 2


def test_the_same_reference_in_another_organization_is_another_opt_in(api, other_api, other_organization):
    """docs/interface.md, G22"""
    other_response = other_api.submit(external_reference="form-1")
    before = snapshot_of(other_organization)

    response = api.submit(external_reference="form-1")

    assert (response.status_code, other_response.status_code) == (201, 201)
    # No id in common; `is_new_lead` is True in both.
    assert not set(response.json()["data"].values()) & set(other_response.json()["data"].values()) - {True}
    assert snapshot_of(other_organization) == before


def test_the_member_in_utm_content_becomes_the_leads_setter(api, host):
    """docs/interface.md, O10"""
    lead = get_lead(api, api.submit(traffic={"utm_content": host.user_id}))

    assert lead["setter"]["id"] == host.user_id
    assert lead["setter"]["email"] == "hana@acme.example"


def test_an_existing_lead_without_a_setter_gets_one(api, host):
    """docs/interface.md, O10"""
    api.submit()

    lead = get_lead(api, api.submit(traffic={"utm_content": host.user_id}))

    assert lead["setter"]["id"] == host.user_id


@pytest.mark.parametrize("kind", ["unknown", "other_organization", "inactive", "prefix_only", "part_of_a_text"])
def test_any_other_utm_content_is_stored_and_assigns_nobody(api, organization, other_organization, host, kind):
    """docs/interface.md, O10"""
    inactive_member = make_member(organization, "gone@acme.example")
    deactivate(inactive_member)
    utm_content = {
        "unknown": "user_000000000000000000000000",
        "other_organization": owner_of(other_organization).user_id,
        "inactive": inactive_member.user_id,
        "prefix_only": "user_",
        "part_of_a_text": f"ad-{host.user_id}",
    }[kind]

    response = api.submit(traffic={"utm_content": utm_content})

    assert (response.status_code, get_lead(api, response)["setter"]) == (201, None)
    assert api.get_opt_in(response.json()["data"]["opt_in_id"])["traffic_attribution"]["utm_content"] == utm_content


def test_known_values_of_the_lead_are_kept(api):
    """docs/interface.md, L4"""
    contact = {"first_name": "Ada", "last_name": "Byron", "phone_e164": "+442079460000", "phone_country": "GB"}
    api.submit(**contact)

    lead = get_lead(
        api, api.submit(first_name="Grace", last_name="Hopper", phone_e164="+12125550123", phone_country="US")
    )

    assert {name: lead[name] for name in contact} == contact


def test_empty_fields_of_the_lead_are_filled(api):
    """docs/interface.md, L4"""
    api.submit()

    lead = get_lead(
        api, api.submit(first_name="Grace", last_name="Hopper", phone_e164="+12125550123", phone_country="US")
    )

    assert [lead[name] for name in ["first_name", "last_name", "phone_e164", "phone_country"]] == [
        "Ada",
        "Hopper",
        "+12125550123",
        "US",
    ]


def test_a_stored_phone_that_is_not_valid_is_replaced(api, organization):
    """docs/interface.md, L6"""
    lead_id = api.submit(phone_e164="+12125550123", phone_country="US").json()["data"]["lead_id"]
    # Version 0.2 stored a number without its area code like this.
    set_columns(Lead, organization, lead_id, phone_e164="+15555555")

    api.submit(phone_e164="+442079460000", phone_country="GB")

    lead = api.get_lead(lead_id)
    assert (lead["phone_e164"], lead["phone_country"]) == ("+442079460000", "GB")


def test_an_opt_in_does_not_change_the_status_of_an_existing_lead(api, organization):
    """docs/interface.md, S8"""
    lead = api.submit().json()["data"]["lead_id"]
    lost = make_status(organization, "Not now", role="LOST")
    api.patch(f"/api/external/leads/{lead}/status", {"status_id": str(lost.id)})

    api.submit()

    assert api.get_lead(lead)["status"]["name"] == "Not now"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"source": "WEBINAR"}, "WEBINAR"),
        ({"source": "WEBINAR", "traffic": {"utm_source": "google"}}, "google"),
        ({"traffic": {"utm_source": ""}}, "LANDING_PAGE"),
    ],
)
def test_the_leads_source_is_the_utm_source_or_the_opt_ins_source(api, fields, name):
    """docs/interface.md, L10"""
    lead = get_lead(api, api.submit(**fields))

    assert lead["first_source"] == lead["last_source"] == {"id": lead["first_source"]["id"], "name": name}


@pytest.mark.parametrize("utm_source", ["  Google ", "google", "GOOGLE\n", "\u00a0google\u3000"])
def test_sources_that_differ_in_letter_case_and_spaces_around_are_one(api, other_api, utm_source):
    """docs/interface.md, L10"""
    other_api.submit(traffic={"utm_source": "Google"})
    first = api.get_lead(api.submit(traffic={"utm_source": "Google"}).json()["data"]["lead_id"])["first_source"]

    second = api.submit(email="grace@example.com", traffic={"utm_source": utm_source})

    assert first["name"] == "Google"
    assert api.get_lead(second.json()["data"]["lead_id"])["first_source"] == first


def test_white_space_within_a_sources_name_counts_as_one_space(api):
    """docs/interface.md, L10"""
    names = ["spring\t sale", "Spring  Sale", "spring sale"]

    leads = [
        api.get_lead(api.submit(email=f"{n}@example.com", traffic={"utm_source": name}).json()["data"]["lead_id"])
        for n, name in enumerate(names)
    ]

    assert [lead["first_source"] for lead in leads] == [{**leads[0]["first_source"], "name": "spring sale"}] * 3


def test_a_long_utm_source_makes_a_source_of_its_first_255_characters(api):
    """docs/interface.md, L10"""
    random = Random(9)
    text = "".join(random.choices([chr(code) for code in range(0x4E00, 0x9FA5)], k=8_192))

    leads = [
        api.get_lead(api.submit(email=email, traffic={"utm_source": text}).json()["data"]["lead_id"])
        for email in ("ada@example.com", "grace@example.com")
    ]

    assert leads[0]["first_source"]["name"] == text[:255]
    assert leads[1]["first_source"] == leads[0]["first_source"]


def test_a_setters_id_in_utm_content_is_found_despite_spaces(api, host):
    """docs/interface.md, O6, O10"""
    lead_id = api.submit(traffic={"utm_content": f" {host.user_id} "}).json()["data"]["lead_id"]

    assert api.get_lead(lead_id)["setter"]["id"] == host.user_id


@pytest.mark.parametrize("name", ["questions_answers", "question_answers"])
def test_a_submission_stores_the_form_the_traffic_and_the_answers(api, organization, name):
    """docs/interface.md, O2, O5"""
    question_answers = [
        {"question": "Budget?", "answer": "5k", "position": 2},
        {"question": "Why?", "answer": None, "position": 1},
        {"question": "Who?", "position": 3},
    ]

    response = api.submit(
        source="FORMBUILDER_A",
        external_reference="s-1",
        provider_form_id="f1",
        provider_form_name="Form",
        traffic=TRAFFIC,
        **{name: question_answers},
    )

    data = response.json()["data"]
    opt_in = api.get_opt_in(data["opt_in_id"])
    expected_answers = [
        {"question": "Why?", "answer": None, "position": 1},
        {"question": "Budget?", "answer": "5k", "position": 2},
        {"question": "Who?", "answer": None, "position": 3},
    ]
    assert opt_in == {
        "id": data["opt_in_id"],
        "lead_id": data["lead_id"],
        "source": "FORMBUILDER_A",
        "provider_form_id": "f1",
        "provider_form_name": "Form",
        "external_reference": "s-1",
        "created_at": opt_in["created_at"],
        "question_answers": [
            {"id": row["id"], **expected}
            for row, expected in zip(opt_in["question_answers"], expected_answers, strict=True)
        ],
        "traffic_attribution": TRAFFIC,
    }
    assert OptIn.objects.of(organization).count() == 1
