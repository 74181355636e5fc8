"""Sources and campaigns of a booking and its lead (docs/interface.md, L10, L11, A18 and A19)."""

UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]


def book(api, reference="ref-1"):
    """Book and return the appointment's detail."""
    id = api.book(external_reference=reference).json()["data"]["id"]
    return api.get_appointment(id)


def listed_utm(api):
    """Return the values of the newest appointment's UTM fields, which only the list has."""
    appointment = api.get_data("/api/external/appointments")[0]
    return [appointment[name] for name in UTM_FIELDS]


def test_a_booking_of_a_new_lead_has_the_source_manual(api):
    """docs/interface.md, L10, A19"""
    appointment = book(api)

    source = {"id": appointment["first_source"]["id"], "name": "MANUAL"}
    assert appointment["first_source"] == appointment["last_source"] == source


def test_the_utm_source_of_an_opt_in_is_the_leads_source(api):
    """docs/interface.md, L10"""
    lead_id = api.submit(traffic={"utm_source": "google"}).json()["data"]["lead_id"]

    lead = api.get_lead(lead_id)

    assert (lead["first_source"]["name"], lead["last_source"]["name"]) == ("google", "google")


def test_the_first_source_never_changes_and_the_last_source_follows_opt_ins_only(api):
    """docs/interface.md, L11"""
    lead_id = api.submit(source="WEBINAR").json()["data"]["lead_id"]
    names = []
    for act in (book, lambda api: api.submit(traffic={"utm_source": "google"}), lambda api: book(api, "ref-2")):
        act(api)
        lead = api.get_lead(lead_id)
        names.append((lead["first_source"]["name"], lead["last_source"]["name"]))

    assert names == [("WEBINAR", "WEBINAR"), ("WEBINAR", "google"), ("WEBINAR", "google")]


def test_an_opt_in_moves_the_last_source_of_a_lead_that_a_booking_has_created(api):
    """docs/interface.md, L11"""
    lead_id = book(api)["lead"]["id"]

    api.submit(traffic={"utm_source": "google"})

    lead = api.get_lead(lead_id)
    assert (lead["first_source"]["name"], lead["last_source"]["name"]) == ("MANUAL", "google")


def test_an_appointment_keeps_the_leads_sources_at_booking(api):
    """docs/interface.md, A19"""
    api.submit(source="WEBINAR")
    api.submit(traffic={"utm_source": "google"})
    id = book(api)["id"]
    # Changes the lead's last source, but not the appointment's.
    api.submit(traffic={"utm_source": "bing"})

    appointment = api.get_appointment(id)

    assert (appointment["first_source"]["name"], appointment["last_source"]["name"]) == ("WEBINAR", "google")


def test_a_source_is_one_row_per_organization(api, other_api):
    """docs/interface.md, L10"""
    source_ids_by_client = {
        client: {book(client, name)["first_source"]["id"] for name in ["ref-1", "ref-2"]} for client in (api, other_api)
    }

    assert [len(source_ids) for source_ids in source_ids_by_client.values()] == [1, 1]
    assert source_ids_by_client[api] != source_ids_by_client[other_api]


def test_the_utm_fields_are_those_of_the_leads_latest_opt_in(api):
    """docs/interface.md, A18"""
    api.submit(traffic={name: f"old {name}" for name in UTM_FIELDS})
    api.submit(traffic={"utm_source": "google", "utm_term": "crm"})

    book(api)

    assert listed_utm(api) == ["google", None, None, None, "crm"]


def test_the_utm_fields_do_not_change_after_the_booking(api):
    """docs/interface.md, A18"""
    api.submit(traffic={name: name for name in UTM_FIELDS})
    book(api)

    api.submit(traffic={"utm_source": "later"})

    assert listed_utm(api) == UTM_FIELDS


def test_without_an_opt_in_the_utm_fields_are_null(api, other_api):
    """docs/interface.md, A18"""
    other_api.submit(traffic={name: name for name in UTM_FIELDS})

    book(api)

    assert listed_utm(api) == [None] * 5
