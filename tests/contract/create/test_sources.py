"""Where a booking comes from: sources and campaigns as they were (decisions 17 and 26)."""

UTM = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]


def book(api, reference="ref-1"):
    id = api.book(external_reference=reference).json()["data"]["id"]
    return api.get_appointment(id)


def utm(api):
    shown = api.get_data("/api/external/appointments")[0]
    return [shown[name] for name in UTM]


def test_decision_17_a_new_leads_first_and_last_source_is_manual(api):
    shown = book(api)

    assert shown["first_source"] == shown["last_source"] == {"id": shown["first_source"]["id"], "name": "MANUAL"}


def test_decision_17_an_opt_ins_utm_source_names_the_source(api):
    lead = api.submit(traffic={"utm_source": "google"}).json()["data"]["lead_id"]

    shown = api.get_lead(lead)

    assert (shown["first_source"]["name"], shown["last_source"]["name"]) == ("google", "google")


def test_decision_17_the_first_source_never_changes_and_the_last_follows(api):
    lead = api.submit(source="WEBINAR").json()["data"]["lead_id"]
    api.submit(traffic={"utm_source": "google"})
    before = api.get_lead(lead)

    book(api)

    after = api.get_lead(lead)
    assert (before["first_source"]["name"], before["last_source"]["name"]) == ("WEBINAR", "google")
    assert (after["first_source"], after["last_source"]["name"]) == (before["first_source"], "MANUAL")


def test_decision_17_an_appointment_shows_its_leads_sources_as_they_were(api):
    api.submit(source="WEBINAR")
    first = book(api)
    api.submit(traffic={"utm_source": "google"})

    shown = api.get_appointment(first["id"])

    assert (shown["first_source"]["name"], shown["last_source"]["name"]) == ("WEBINAR", "MANUAL")


def test_decision_17_a_source_is_one_row_of_its_organization(api, other_api):
    ids = {a: {book(a, name)["first_source"]["id"] for name in ["ref-1", "ref-2"]} for a in (api, other_api)}

    assert [len(own) for own in ids.values()] == [1, 1]
    assert ids[api] != ids[other_api]


def test_decision_26_the_campaign_is_that_of_the_leads_latest_opt_in(api):
    api.submit(traffic={name: f"old {name}" for name in UTM})
    api.submit(traffic={"utm_source": "google", "utm_term": "crm"})

    book(api)

    assert utm(api) == ["google", None, None, None, "crm"]


def test_decision_26_the_campaign_stays_as_it_was_at_booking(api):
    api.submit(traffic={name: name for name in UTM})
    book(api)

    api.submit(traffic={"utm_source": "later"})

    assert utm(api) == UTM


def test_decision_26_without_an_opt_in_there_is_no_campaign(api, other_api):
    other_api.submit(traffic={name: name for name in UTM})

    book(api)

    assert utm(api) == [None] * 5
