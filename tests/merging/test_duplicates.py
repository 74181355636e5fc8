"""Finding possible duplicates, and the pages on which they are compared, merged and separated."""

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from leads.duplicates import BATCH, describe_reasons, dismiss, find_similar, search_batch
from leads.models import Lead, LeadMerge, PossibleDuplicate
from leads.tasks import search_duplicates
from organizations.models import MemberRole, Organization
from tests.client import ApiClient
from tests.factories import make_custom_field, make_member, owner_of, set_columns
from tests.merging.leads import book, make_lead, merge, undo
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, logged_in_client, shown_messages


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def search() -> None:
    """Search as the task does, when what has been written is settled."""
    with time_machine.travel(now() + timedelta(minutes=5)):
        search_duplicates()


def pairs(organization: Organization) -> set[tuple[str, str, str]]:
    """Return the pairs that were found: both e-mails, and what they have in common."""
    rows = PossibleDuplicate.objects.of(organization).filter(is_dismissed=False).select_related("first", "second")
    return {(row.first.email, row.second.email, describe_reasons(row.reasons)) for row in rows}


def compare_url(lead: UUID, other: UUID) -> str:
    return f"{admin_url(Lead, 'merge', lead)}?with={other}"


@pytest.mark.parametrize(
    ("first", "second", "reasons"),
    [
        ({"email": "ada@example.com"}, {"email": "Ada+form@example.com"}, "Same mailbox"),
        ({"email": "a.da@gmail.com"}, {"email": "ADA+x@googlemail.com"}, "Same mailbox"),
        ({"email": "a.da@example.com"}, {"email": "ada@example.com"}, ""),
        ({"phone_e164": "+14155552671"}, {"phone_e164": "+14155552671"}, "Same phone"),
        (
            {"first_name": "José", "last_name": "Müller-Weiß"},
            {"first_name": "MÜLLER WEISS", "last_name": "Jose"},
            "Same name",
        ),
        ({"first_name": "Ada", "last_name": "King"}, {"first_name": "Ada", "last_name": "Kong"}, ""),
        ({"first_name": "Ada"}, {"first_name": "Ada"}, ""),
        (
            {"first_name": "Ada", "last_name": "King", "phone_e164": "+14155552671"},
            {"first_name": "Ada", "last_name": "King", "phone_e164": "+14155552671"},
            "Same phone, same name",
        ),
    ],
)
def test_leads_are_similar_if_they_have_mailbox_phone_or_full_name_in_common(
    first: dict[str, str], second: dict[str, str], reasons: str, api: ApiClient, organization: Organization
) -> None:
    for number, fields in enumerate([first, second]):
        country = {"phone_country": "US"} if "phone_e164" in fields else {}
        make_lead(api, **{"email": f"{number}@example.com", "first_name": f"No {number}", **fields, **country})

    ids = list(Lead.objects.of(organization).order_by("pk"))

    assert [describe_reasons(row.reasons) for row in find_similar(ids[0])] == ([reasons] if reasons else [])
    search()
    assert len(pairs(organization)) == (1 if reasons else 0)


def test_a_name_that_many_leads_have_says_nothing(api: ApiClient, organization: Organization) -> None:
    for number in range(6):
        make_lead(api, f"{number}@example.com", first_name="Ada", last_name="King")

    assert find_similar(Lead.objects.of(organization).first()) == []


def test_pairs_follow_changes_of_the_leads(api: ApiClient, organization: Organization) -> None:
    first, second = (
        make_lead(api, f"{name}@example.com", first_name="Ada", last_name="King") for name in ("ada", "king")
    )
    search()
    assert pairs(organization) == {("ada@example.com", "king@example.com", "Same name")}

    change = {"updated_at": now() + timedelta(minutes=6)}
    set_columns(Lead, organization, str(second), email="ada+x@example.com", **change)
    with time_machine.travel(now() + timedelta(minutes=8)):
        search()
    assert pairs(organization) == {("ada@example.com", "ada+x@example.com", "Same mailbox, same name")}

    change = {"updated_at": now() + timedelta(minutes=9)}
    set_columns(Lead, organization, str(first), email="grace@example.com", last_name="Hopper", **change)
    with time_machine.travel(now() + timedelta(minutes=12)):
        search()
    assert pairs(organization) == set()


def test_a_search_takes_the_same_statements_for_one_lead_and_for_a_batch(
    api: ApiClient, organization: Organization
) -> None:
    counts = []
    for number in range(2):
        for copy in range(1 + 20 * number):
            make_lead(api, f"{number}-{copy}@example.com")
        with time_machine.travel(now() + timedelta(minutes=5 * (number + 1))):
            set_time = {"updated_at": now() - timedelta(minutes=2)}
            Lead.objects.of(organization).filter(email__startswith=f"{number}-").update(**set_time)
            with CaptureQueriesContext(connection) as captured:
                found = search_batch(organization=organization)
        counts.append(len([query for query in captured.captured_queries if "batch AS" in query["sql"]]))
        assert found == 1 + 20 * number < BATCH

    assert counts == [1, 1]


def test_the_list_shows_pairs_most_certain_first_of_the_own_organization_only(
    api: ApiClient, other_api: ApiClient, owner: Client, organization: Organization
) -> None:
    make_lead(api, "ada@example.com", first_name="Ada", last_name="King")
    make_lead(api, "ada+x@example.com", first_name="Ada", last_name="Byron")
    make_lead(api, "king@example.com", first_name="Ada", last_name="King")
    for email in ("eve@globex.example", "eve+x@globex.example"):
        make_lead(other_api, email)
    search()

    text = owner.get(admin_url(PossibleDuplicate, "changelist")).content.decode()

    assert 0 < text.index("Same mailbox") < text.index("Same name")
    assert "globex" not in text


def test_pairs_that_are_no_duplicates_are_remembered_also_when_a_lead_is_merged(
    api: ApiClient, owner: Client, organization: Organization
) -> None:
    ids = [make_lead(api, f"ada{tag}@example.com") for tag in ("", "+1", "+2")]
    search()

    response = owner.post(compare_url(ids[0], ids[1]), {"dismiss": "1"})

    assert response.status_code == 302
    assert len(pairs(organization)) == 2
    assert [row.lead_id for row in find_similar(Lead.objects.of(organization).get(pk=ids[0]))] == [ids[2]]
    merge(organization, ids[2], ids[1])
    assert find_similar(Lead.objects.of(organization).get(pk=ids[0])) == []
    assert pairs(organization) == set()
    with pytest.raises(Conflict, match="was merged meanwhile"):
        dismiss(organization=organization, leads=(ids[1], ids[0]))


def test_undoing_a_merge_remembers_the_pairs_of_before(
    api: ApiClient, other_api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    ids = [make_lead(api, f"ada{tag}@example.com") for tag in ("", "+1", "+2", "+3")]
    others = [make_lead(other_api, f"ada{tag}@example.com") for tag in ("", "+1")]
    first, second, third, fourth = ids
    for pair in ((second, third), (first, fourth), (second, fourth), (first, second)):
        dismiss(organization=organization, leads=pair)
    dismiss(organization=other_organization, leads=(others[0], others[1]))
    before = dismissed(organization)
    search()
    merge(organization, first, second)
    assert dismissed(organization) == {frozenset([first, third]), frozenset([first, fourth])}

    undo(organization, second)
    search()

    assert dismissed(organization) == before
    assert pairs(organization) == {
        ("ada@example.com", "ada+2@example.com", "Same mailbox"),
        ("ada+2@example.com", "ada+3@example.com", "Same mailbox"),
    }
    assert len(dismissed(other_organization)) == 1


def test_a_pair_is_not_remembered_of_a_lead_that_was_merged_since(api: ApiClient, organization: Organization) -> None:
    first, second, third, fourth = (make_lead(api, f"{number}@example.com") for number in range(4))
    dismiss(organization=organization, leads=(second, third))
    merge(organization, first, second)
    merge(organization, fourth, third)

    undo(organization, second)

    assert dismissed(organization) == {frozenset([first, fourth])}


def dismissed(organization: Organization) -> set[frozenset[UUID]]:
    """Return the pairs that are no duplicates."""
    rows = PossibleDuplicate.objects.of(organization).filter(is_dismissed=True)
    return {frozenset(pair) for pair in rows.values_list("first_id", "second_id")}


def test_a_lead_with_many_such_pairs_is_merged_in_the_same_statements(
    api: ApiClient, organization: Organization
) -> None:
    """Events of all organizations wait for the transaction."""
    keep, *others, extra = (make_lead(api, f"{number}@example.com") for number in range(6))
    counts = []
    for merged, dismissed in ((others[0], [extra]), (others[1], others[2:])):
        for other in dismissed:
            dismiss(organization=organization, leads=(merged, other))
        with CaptureQueriesContext(connection) as queries:
            merge(organization, keep, merged)
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert PossibleDuplicate.objects.of(organization).filter(is_dismissed=True).count() == 3


def test_what_is_no_duplicate_is_in_the_history_of_both_leads_alone(
    api: ApiClient, owner: Client, organization: Organization
) -> None:
    """An entry of the pair would keep both names after an erasure."""
    ids = [make_lead(api, email) for email in ("ada@example.com", "ada+x@example.com")]
    search()
    pair = PossibleDuplicate.objects.of(organization).get()
    selection = {"action": "dismiss_selected", "_selected_action": str(pair.pk), "confirmed": "1"}

    owner.post(admin_url(PossibleDuplicate, "changelist"), selection)

    assert set(LogEntry.objects.values_list("object_id", flat=True)) == set(map(str, ids))


def form_of(client: Client, url: str) -> dict[str, Any]:
    """Return what the page's form sends if nothing is changed."""
    context = client.get(url).context
    data = {line.name: str(line.chosen) for line in context["lines"] if not line.is_same}
    versions = {f"version_{lead.pk}": version for lead, _, version, _ in context["leads"]}
    return {"keep": str(context["leads"][0][0].pk), **versions, **data}


def test_the_older_leads_values_are_chosen_and_empty_ones_filled(
    api: ApiClient, owner: Client, organization: Organization
) -> None:
    field = make_custom_field(organization, "LEAD", "size")
    keep = make_lead(api, "ada@example.com", first_name="Ada")
    other = make_lead(api, "ada+x@example.com", first_name="Adele", last_name="King", source="WEBINAR")
    set_columns(Lead, organization, str(other), custom_values={str(field.pk): "L"})
    url = compare_url(other, keep)

    response = owner.post(url, form_of(owner, url) | {"merge": "1"})

    assert response.status_code == 302
    lead = api.get_lead(str(other))
    assert (lead["id"], lead["email"], lead["first_name"], lead["last_name"]) == (
        str(keep),
        "ada@example.com",
        "Ada",
        "King",
    )
    assert (lead["last_source"]["name"], lead["custom_fields"][0]["value"]) == ("WEBINAR", "L")


def test_the_newer_lead_can_be_kept_with_any_values(api: ApiClient, owner: Client, organization: Organization) -> None:
    older, newer = make_lead(api, "ada@example.com", first_name="Ada"), make_lead(api, "b@example.com", first_name="B")
    url = compare_url(older, newer)

    owner.post(url, form_of(owner, url) | {"merge": "1", "keep": str(newer), "email": str(newer)})

    lead = api.get_lead(str(older))
    assert (lead["id"], lead["email"], lead["first_name"]) == (str(newer), "b@example.com", "Ada")


def test_the_page_says_what_moves_and_warns(api: ApiClient, owner: Client, organization: Organization) -> None:
    phone = {"phone_country": "US"}
    first = make_lead(api, "ada@example.com", phone_e164="+14155552671", **phone)
    second = make_lead(api, "bob@example.com", phone_e164="+14155552672", **phone)
    for number, email in enumerate(("ada@example.com", "bob@example.com")):
        book(api, email, f"ref-{number}")

    text = owner.get(compare_url(first, second)).content.decode()

    for words in (
        "1 appointment",
        "1 opt-in",
        "share no mailbox, phone or full name",
        "Their phones differ",
        "Both have an upcoming appointment",
        "No one is e-mailed, and no connected app is updated.",
    ):
        assert words in text


def test_leads_that_share_a_mailbox_are_not_called_different_though_someone_said_so(
    api: ApiClient, owner: Client, organization: Organization
) -> None:
    first, second = make_lead(api, "ada@example.com"), make_lead(api, "ada+1@example.com")
    owner.post(compare_url(first, second), {"dismiss": "1"})

    text = owner.get(compare_url(first, second)).content.decode()

    assert "share no mailbox" not in text


def test_a_page_that_is_out_of_date_merges_nothing(api: ApiClient, owner: Client, organization: Organization) -> None:
    first, second = make_lead(api, "ada@example.com"), make_lead(api, "ada+x@example.com")
    url = compare_url(first, second)
    data = form_of(owner, url)
    api.patch(f"/api/external/leads/{first}/status", {"status_id": api.get_status("WON")["id"]})

    response = owner.post(url, data | {"merge": "1"})

    assert response.status_code == 200
    assert "changed since you opened the page" in response.content.decode()
    assert Lead.objects.of(organization).count() == 2


def test_a_merge_is_undone_on_the_leads_page_of_duplicates(
    api: ApiClient, owner: Client, organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada+x@example.com")
    merge(organization, keep, other)
    url, row = admin_url(Lead, "duplicates", keep), LeadMerge.objects.of(organization).get()
    assert "Undo brings it back" in owner.get(url).content.decode()

    responses = [owner.post(url, {"merge": str(row.pk)}) for _ in range(2)]

    assert [response.status_code for response in responses] == [302, 302]
    assert shown_messages(responses[1])[-1] == "This was undone already."
    assert api.get_lead(str(other))["id"] == str(other)


def test_instead_of_a_button_the_page_says_why_a_merge_cannot_be_undone(
    api: ApiClient, owner: Client, organization: Organization
) -> None:
    with time_machine.travel(now() - timedelta(minutes=1)):
        keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada+x@example.com")
        merge(organization, keep, other)
    api.submit(email="ada@example.com")

    text = owner.get(admin_url(Lead, "duplicates", keep)).content.decode()

    assert "It can't be undone." in text
    assert "This was added since: opt-in" in text


def test_another_lead_is_found_by_name_or_email(api: ApiClient, owner: Client) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "grace@example.com", first_name="Grace")

    text = owner.get(admin_url(Lead, "duplicates", keep), {"find": "grace"}).content.decode()

    assert compare_url(keep, other) in text


def test_a_search_for_another_lead_by_too_many_words_says_so(api: ApiClient, owner: Client) -> None:
    words = "the lead from last week who wanted the large plan please"

    response = owner.get(admin_url(Lead, "duplicates", make_lead(api, "ada@example.com")), {"find": words})

    text = response.content.decode()
    assert (response.status_code, f'value="{words}"' in text) == (200, True)
    assert ("Search for at most 10 words and 200 characters." in text, "No other lead matches" in text) == (True, False)


@pytest.mark.parametrize("role", [MemberRole.VIEWER, MemberRole.CLOSER])
def test_who_may_not_change_both_leads_merges_nothing(
    role: MemberRole, api: ApiClient, organization: Organization
) -> None:
    first, second = make_lead(api, "ada@example.com"), make_lead(api, "ada+x@example.com")
    set_columns(Lead, organization, str(second), setter=owner_of(organization))
    client = logged_in_client(make_member(organization, "m@acme.example", role=role))
    search()

    assert client.get(compare_url(first, second)).status_code == 403
    assert client.post(compare_url(first, second), {"merge": "1"}).status_code == 403
    assert client.post(compare_url(first, second), {"dismiss": "1"}).status_code == 403
    listed = client.get(admin_url(PossibleDuplicate, "changelist")).content.decode()
    assert ("Same mailbox" in listed, "Compare" in listed) == (True, False)
    pair = PossibleDuplicate.objects.of(organization).get()
    selection = {"action": "dismiss_selected", "_selected_action": str(pair.pk), "confirmed": "1"}
    client.post(admin_url(PossibleDuplicate, "changelist"), selection)
    assert pairs(organization) != set()
    assert Lead.objects.of(organization).count() == 2


def test_leads_of_another_organization_are_unknown(
    api: ApiClient, other_api: ApiClient, owner: Client, other_organization: Organization
) -> None:
    own, theirs = make_lead(api, "ada@example.com"), make_lead(other_api, "ada+x@example.com")

    for url in (compare_url(own, theirs), compare_url(theirs, own), admin_url(Lead, "duplicates", theirs)):
        assert owner.get(url).status_code == 404
        assert owner.post(url, {"merge": "1", "keep": str(own)}).status_code == 404
    assert Lead.objects.of(other_organization).count() == 1


def test_values_that_look_like_unfinished_markup_can_be_compared(
    api: ApiClient, organization: Organization, owner: Client
) -> None:
    field, text = make_custom_field(organization, "LEAD", "size"), "<a" * 600 + ">"
    first, second = make_lead(api, "ada@example.com"), make_lead(api, "ada@example.org")
    set_columns(Lead, organization, str(first), custom_values={str(field.pk): text})

    page = owner.get(compare_url(first, second))

    # The choice is named by its line and by the value beside it.
    value = (
        f'aria-labelledby="{field.pk} {field.pk}-{first}" checked> <span id="{field.pk}-{first}">{escape(text)}</span>'
    )
    assert (page.status_code, page.content.decode().count(value)) == (200, 1)


@pytest.mark.parametrize("other", ["x", "00000000-0000-7000-8000-000000000000"])
def test_an_unknown_lead_to_compare_with_is_404(other: str, api: ApiClient, owner: Client) -> None:
    lead = make_lead(api, "ada@example.com")

    assert owner.get(admin_url(Lead, "merge", lead), {"with": other}).status_code == 404
    assert owner.get(admin_url(Lead, "merge", lead), {"with": str(lead)}).status_code == 404


def test_names_of_any_length_and_script_can_be_compared(api: ApiClient, organization: Organization) -> None:
    # NFKD makes three letters of each syllable; what has no pattern is not compressed, and an index has a limit.
    letters = Random(1).choices([*range(0xAC00, 0xD7A4)] * 2 + [*range(0x20000, 0x2A6D0)], k=510)
    names = ["".join(map(chr, letters[:255])), "".join(map(chr, letters[255:]))]
    for email in ("ada@example.com", "grace@example.com"):
        make_lead(api, email, first_name=names[0], last_name=names[1])

    search()

    assert pairs(organization) == {("ada@example.com", "grace@example.com", "Same name")}


@pytest.mark.parametrize("view", ["change", "history", "add_note"])
def test_the_address_of_a_merged_lead_leads_to_the_kept_one(
    view: str, api: ApiClient, owner: Client, organization: Organization, other_organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    merge(organization, keep, other)
    url = admin_url(Lead, view, other)
    stranger = logged_in_client(owner_of(other_organization))

    shown = owner.get(url)
    sent = owner.post(admin_url(Lead, "change", other), {"first_name": "Ada"})
    refused = stranger.get(url)

    assert [response.headers["Location"] for response in (shown, sent)] == [admin_url(Lead, "change", keep)] * 2
    assert shown_messages(sent)[-1] == "The lead you opened was merged into this one. Nothing was saved."
    assert refused.headers["Location"] == "/admin/"


def test_what_was_typed_on_the_page_of_a_lead_that_was_merged_meanwhile_is_not_lost(
    api: ApiClient, owner: Client, organization: Organization, other_organization: Organization
) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example")
    note = form_data(owner, admin_url(Lead, "add_note", other), note="She wants\na discount")
    phone = form_data(owner, admin_url(Lead, "set_phone", other), phone="+14155552671")
    api.patch(f"/api/external/leads/{keep}", {"phone_e164": "+14155552672", "phone_country": "US"})
    merge(organization, keep, other)
    stranger = logged_in_client(owner_of(other_organization))

    noted = owner.post(admin_url(Lead, "add_note", other), note, follow=True)
    refused = owner.post(admin_url(Lead, "set_phone", other), phone, follow=True)
    unknown = stranger.post(admin_url(Lead, "add_note", other), note)

    assert [row["note"] for row in api.get_data(f"/api/external/leads/{keep}/notes")] == ["She wants\na discount"]
    merged = "The lead you opened was merged into this one."
    assert merged in noted.content.decode()
    assert noted.redirect_chain[-1][0] == admin_url(Lead, "change", keep)
    assert 'value="+14155552671"' in refused.content.decode()
    assert merged in refused.content.decode()
    assert api.get_lead(keep)["phone_e164"] == "+14155552672"
    assert unknown.headers["Location"] == "/admin/"


def test_the_pages_for_merging_a_merged_lead_lead_to_the_kept_one(
    api: ApiClient, owner: Client, organization: Organization, other_organization: Organization
) -> None:
    keep, other, third = (make_lead(api, f"{name}@example.com") for name in ("ada", "adah", "grace"))
    merge(organization, keep, other)
    stranger = logged_in_client(owner_of(other_organization))
    urls = [
        admin_url(Lead, "duplicates", other),
        f"{admin_url(Lead, 'merge', other)}?with={keep}",
        f"{admin_url(Lead, 'merge', third)}?with={other}",
    ]

    responses = [owner.get(url) for url in urls] + [owner.post(urls[1], {"keep": str(keep)})]

    assert [response.headers["Location"] for response in responses] == [admin_url(Lead, "change", keep)] * 4
    assert [stranger.get(url).status_code for url in urls] == [404] * 3


def test_the_history_names_the_merged_lead(api: ApiClient, owner: Client, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example", first_name="Gus")
    merge(organization, keep, other, "first_name")

    page = owner.get(admin_url(Lead, "history", keep))

    [entry] = [entry for entry in page.context["timeline"].entries if entry.text.startswith("Merged")]
    assert (entry.text, [detail.label for detail in entry.details]) == ("Merged with ada@work.example", ["First name"])
    assert "Previous ids" not in page.content.decode()


def test_the_timeline_names_the_merged_lead(api: ApiClient, owner: Client, organization: Organization) -> None:
    keep, other = make_lead(api, "ada@example.com"), make_lead(api, "ada@work.example", first_name="Gus")
    merge(organization, keep, other, "first_name")
    url = admin_url(Lead, "change", keep)

    def newest() -> tuple[str, list[str]]:
        entry = owner.get(f"{url}?kind=changes").context["record"]["timeline"].entries[0]
        return entry.text, [detail.label for detail in entry.details]

    merged = newest()
    undo(organization, other)

    assert merged == ("Merged with ada@work.example", ["First name"])
    assert newest()[0] == "Merge undone"
