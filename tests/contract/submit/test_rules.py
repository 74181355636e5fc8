"""POST /api/opt-in/submit: interface 4.5, rules 1 to 4, decisions 13 to 17 and 20."""

from uuid import UUID

import pytest

from optins.models import OptIn
from tests.factories import deactivate, make_member, make_status, owner_of, snapshot_of, summary_of

TRAFFIC = {name: f"https://example.com/{name}" for name in ["referrer", "landing_page"]}
TRAFFIC |= {name: f"the {name}" for name in ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]}


def lead_of(api, answer):
    assert answer.status_code in (200, 201), answer.json()
    return api.get_lead(answer.json()["data"]["lead_id"])


def test_submit_rule_1_a_new_lead_is_201(api, organization, other_organization):
    answer = api.submit()

    data = answer.json()["data"]
    assert answer.status_code == 201
    assert answer.json() == {
        "status": "success",
        "message": answer.json()["message"],
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


def test_decision_20_a_new_lead_is_a_new_lead(api):
    lead = lead_of(api, api.submit(last_name="Byron", phone_e164="+442079460000", phone_country="GB"))

    assert lead["status"] == api.get_status("NEW_LEAD")
    shown = {
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
    assert shown == {
        "first_name": "Ada",
        "last_name": "Byron",
        "email": "ada@example.com",
        "phone_e164": "+442079460000",
        "phone_country": "GB",
        "next_touch_point_at": None,
        "next_touch_point_type": None,
    }


@pytest.mark.parametrize("email", ["ada@example.com", "ADA@Example.COM", "  ada@example.com "])
def test_submit_rule_2_an_existing_lead_is_200(api, organization, email):
    first = api.submit().json()["data"]

    answer = api.submit(email=email, source="WEBINAR")

    data = answer.json()["data"]
    assert (answer.status_code, answer.json()["status"]) == (200, "success")
    assert data == {"opt_in_id": data["opt_in_id"], "lead_id": first["lead_id"], "is_new_lead": False}
    assert data["opt_in_id"] != first["opt_in_id"]
    assert summary_of(organization)["events"] == ["lead.created", "opt_in.created", "opt_in.created"]
    assert api.get_lead(first["lead_id"])["email"] == "ada@example.com"


def test_submit_rule_2_a_lead_made_by_a_booking_is_an_existing_one(api):
    lead = api.get_appointment(api.book().json()["data"]["id"])["lead"]["id"]

    answer = api.submit()

    assert (answer.status_code, answer.json()["data"]["lead_id"], answer.json()["data"]["is_new_lead"]) == (
        200,
        lead,
        False,
    )
    assert api.get_lead(lead)["status"]["role"] == "APPOINTMENT_BOOKED"


def test_submit_without_a_reference_is_recorded_each_time(api, organization):
    ids = {api.submit().json()["data"]["opt_in_id"] for _ in range(3)}

    assert len(ids) == summary_of(organization)["opt_ins"] == 3


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="same"),
        pytest.param({"email": "new@example.com", "first_name": "Grace"}, id="another_lead"),
        pytest.param(
            {"last_name": "Byron", "phone_e164": "+442079460000", "phone_country": "GB", "traffic": TRAFFIC},
            id="more_facts",
        ),
        pytest.param({"questions_answers": [{"question": "Why?", "answer": "So", "position": 1}]}, id="answers"),
    ],
)
def test_submit_rule_3_the_same_reference_and_source_answers_with_the_stored_record(api, organization, fields):
    first = api.submit(external_reference="form-1").json()["data"]
    before = snapshot_of(organization)

    answer = api.submit(external_reference="form-1", **fields)

    assert answer.status_code == 200
    assert answer.json()["data"] == {**first, "is_new_lead": False}
    assert snapshot_of(organization) == before


def test_submit_rule_3_the_same_reference_of_another_source_is_another_record(api, organization):
    first = api.submit(external_reference="form-1").json()["data"]["opt_in_id"]

    second = api.submit(external_reference="form-1", source="WEBINAR").json()["data"]["opt_in_id"]

    assert first != second
    assert summary_of(organization)["opt_ins"] == 2


def test_decision_23_a_reference_of_another_organization_is_another_record(api, other_api, other_organization):
    theirs = other_api.submit(external_reference="form-1")
    before = snapshot_of(other_organization)

    ours = api.submit(external_reference="form-1")

    assert (ours.status_code, theirs.status_code) == (201, 201)
    assert not set(ours.json()["data"].values()) & set(theirs.json()["data"].values()) - {True}
    assert snapshot_of(other_organization) == before


def test_submit_rule_4_the_user_in_utm_content_is_the_leads_setter(api, host):
    lead = lead_of(api, api.submit(traffic={"utm_content": host.user_id}))

    assert lead["setter"]["id"] == host.user_id
    assert lead["setter"]["email"] == "hana@acme.example"


def test_submit_rule_4_an_existing_lead_without_a_setter_gets_it(api, host):
    api.submit()

    lead = lead_of(api, api.submit(traffic={"utm_content": host.user_id}))

    assert lead["setter"]["id"] == host.user_id


@pytest.mark.parametrize("who", ["unknown", "stranger", "left", "not_a_user", "elsewhere"])
def test_submit_rule_4_anybody_else_is_no_setter_and_no_error(api, organization, other_organization, host, who):
    left = make_member(organization, "gone@acme.example")
    deactivate(left)
    content = {
        "unknown": "user_000000000000000000000000",
        "stranger": owner_of(other_organization).user_id,
        "left": left.user_id,
        "not_a_user": "user_",
        "elsewhere": f"ad-{host.user_id}",
    }[who]

    answer = api.submit(traffic={"utm_content": content})

    assert (answer.status_code, lead_of(api, answer)["setter"]) == (201, None)
    assert api.get_opt_in(answer.json()["data"]["opt_in_id"])["traffic_attribution"]["utm_content"] == content


def test_decision_14_known_facts_are_kept(api):
    known = {"first_name": "Ada", "last_name": "Byron", "phone_e164": "+442079460000", "phone_country": "GB"}
    api.submit(**known)

    lead = lead_of(
        api, api.submit(first_name="Grace", last_name="Hopper", phone_e164="+12125550123", phone_country="US")
    )

    assert {name: lead[name] for name in known} == known


def test_decision_14_empty_fields_are_filled(api):
    api.submit()

    lead = lead_of(
        api, api.submit(first_name="Grace", last_name="Hopper", phone_e164="+12125550123", phone_country="US")
    )

    assert [lead[name] for name in ["first_name", "last_name", "phone_e164", "phone_country"]] == [
        "Ada",
        "Hopper",
        "+12125550123",
        "US",
    ]


def test_an_opt_in_leaves_the_status_of_an_existing_lead(api, organization):
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
def test_decision_17_the_source_is_the_utm_source_or_the_opt_ins(api, fields, name):
    lead = lead_of(api, api.submit(**fields))

    assert lead["first_source"] == lead["last_source"] == {"id": lead["first_source"]["id"], "name": name}


def test_submit_stores_the_form_the_traffic_and_the_answers(api, organization):
    answers = [
        {"question": "Budget?", "answer": "5k", "position": 2},
        {"question": "Why?", "answer": None, "position": 1},
        {"question": "Who?", "position": 3},
    ]

    id = api.submit(
        source="FORMBUILDER_A",
        external_reference="s-1",
        provider_form_id="f1",
        provider_form_name="Form",
        traffic=TRAFFIC,
        questions_answers=answers,
    )

    data = id.json()["data"]
    shown = api.get_opt_in(data["opt_in_id"])
    stored = [
        {"question": "Why?", "answer": None, "position": 1},
        {"question": "Budget?", "answer": "5k", "position": 2},
    ]
    stored.append({"question": "Who?", "answer": None, "position": 3})
    assert shown == {
        "id": data["opt_in_id"],
        "lead_id": data["lead_id"],
        "source": "FORMBUILDER_A",
        "provider_form_id": "f1",
        "provider_form_name": "Form",
        "external_reference": "s-1",
        "created_at": shown["created_at"],
        "question_answers": [
            {"id": row["id"], **answer} for row, answer in zip(shown["question_answers"], stored, strict=True)
        ],
        "traffic_attribution": TRAFFIC,
    }
    assert OptIn.objects.of(organization).count() == 1
