"""The order in which waiting requests get threads, without a server (docs/decisions/0008)."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from accounts.sign_in_limits import COOKIE, remember_browser
from foundation.api.client_address import client_address
from organizations.models import User
from pipeline_backend.web.credentials import KnownCredentials
from pipeline_backend.web.responses import ResponseFiles
from pipeline_backend.web.turns import Refusal, Sender, Turn, Turns

ACME = Turn("organization Acme", "10.0.0.1", sender=Sender.IDENTIFIED)
GLOBEX = Turn("organization Globex", "10.0.0.9", sender=Sender.IDENTIFIED)
ADA = Turn("organization Acme", "person Ada", is_page=True, sender=Sender.IDENTIFIED)
BOB = Turn("organization Globex", "person Bob", is_page=True, sender=Sender.IDENTIFIED)
CAROL = Turn("organization Initech", "person Carol", is_page=True, sender=Sender.IDENTIFIED)
KATE = Turn("browsers in 10.0.0.0/24", "browser of kate", is_page=True, sender=Sender.BROWSER)
EVE = Turn("network 10.0.0.0/24", "10.0.0.5", is_page=True)


def strangers(count: int) -> list[Turn]:
    """Return turns of pages without a session, each of another address."""
    return [Turn(f"address {number}", str(number), is_page=True) for number in range(count)]


def cookie_of(account: str) -> dict[str, str]:
    """Return the cookie of a new browser in which somebody has signed in as the account."""
    response = HttpResponse()
    remember_browser(RequestFactory().get("/"), User(pk=account), response)
    return {"HTTP_COOKIE": f"theme=dark; {COOKIE}={response.cookies[COOKIE].value}"}


class Server:
    """Hands each request to `turns`; threads finish them only when a test says so."""

    def __init__(self, threads: int = 4) -> None:
        self.given_up: list[Turn] = []
        self.turns: Turns[Turn] = Turns(threads, self.given_up.append)

    def receive(self, *turns: Turn) -> list[Refusal | None]:
        """Queue the requests, and return what refuses them."""
        return [self.turns.put(turn, turn) for turn in turns]

    def started(self) -> list[Turn]:
        """Return the requests that were given to threads since the last call."""
        return [self.turns.get() for _ in range(len(self.turns.ready))]

    def finish(self, turns: Iterable[Turn]) -> list[Turn]:
        """Finish the requests one after the other, and return those that start."""
        for turn in turns:
            self.turns.finish(turn)
        return self.started()


def test_an_organization_has_half_of_the_threads_and_another_one_the_rest():
    server = Server()

    server.receive(ACME)
    assert not server.turns.is_busy()  # it may count with parallel workers
    server.receive(*[ACME] * 19, *[GLOBEX] * 20)

    assert server.turns.is_busy()
    assert server.started() == [ACME, ACME, GLOBEX, GLOBEX]
    assert server.finish([ACME]) == [ACME]
    assert server.finish([GLOBEX, GLOBEX]) == [GLOBEX, GLOBEX]


def test_clients_of_an_organization_take_turns():
    server = Server()
    colleague = ACME._replace(client="10.0.0.2")

    server.receive(*[ACME] * 4, colleague)

    assert server.started() == [ACME, ACME]
    assert server.finish([ACME, ACME]) == [ACME, colleague]
    assert server.finish([ACME, colleague]) == [ACME]
    assert server.finish([ACME]) == []


def test_pages_of_an_organization_never_stop_its_api_requests_nor_the_reverse():
    pages, requests = Server(), Server()

    pages.receive(ADA, ADA, ADA, ACME, ACME)
    requests.receive(ACME, ACME, ACME, ADA, ADA)

    assert pages.started() == [ADA, ACME]
    assert requests.started() == [ACME, ACME, ADA]
    assert requests.finish([ACME]) == []  # two are still in flight: half of the threads
    assert requests.finish([ADA]) == [ACME, ADA]


def test_pages_of_two_organizations_take_turns():
    server = Server()

    server.receive(*[ADA] * 5, *[BOB] * 2, CAROL)

    assert server.started() == [ADA, BOB]
    assert server.finish([ADA, BOB]) == [CAROL, ADA]
    assert server.finish([ADA]) == [BOB]
    assert server.finish([BOB, CAROL]) == [ADA]


@pytest.mark.parametrize("threads", [4, 8, 16])
def test_a_page_of_a_third_organization_is_next_when_two_others_have_all_places(threads: int):
    server, people = Server(threads), range(threads)
    of_two = [turn._replace(client=f"person {number}") for number in people for turn in (ADA, BOB)]
    server.receive(*of_two)
    in_flight = server.started()
    assert len(in_flight) == threads // 2

    server.receive(CAROL)

    assert server.finish(in_flight[:1]) == [CAROL]


@pytest.mark.parametrize("threads", [4, 8, 16])
def test_pages_of_an_organization_leave_a_place_to_others_and_those_of_a_person_run_one_after_the_other(threads: int):
    server = Server(threads)
    colleagues = [ADA._replace(client=f"person {number}") for number in range(threads)]

    server.receive(*[ADA] * 3, *colleagues[:1], *[ADA] * 3, *colleagues[1:])

    in_flight = server.started()
    assert in_flight == [ADA, *colleagues][: threads // 2 - 1]
    server.receive(EVE)
    assert server.started() == [EVE]
    assert server.finish([ADA]) == [ADA]


def test_files_have_one_place_of_their_own_and_organizations_take_turns():
    server = Server()
    of_ada, of_bob = (turn._replace(sender=Sender.FILE) for turn in (ADA, BOB))

    server.receive(of_ada, of_ada, of_bob, ADA, BOB, EVE, ACME, ACME)

    assert server.started() == [of_ada, ADA, BOB, ACME]
    assert server.finish([of_ada]) == [of_bob]
    assert server.finish([of_bob]) == [of_ada]
    assert server.finish([of_ada]) == []


def test_a_page_of_a_colleague_does_not_wait_for_the_pages_of_a_person():
    server, colleague = Server(8), ADA._replace(client="person Grace")
    server.receive(*[ADA] * 5)

    server.receive(colleague)

    assert server.started() == [ADA, colleague]


def test_the_eleventh_waiting_page_of_a_client_is_refused_and_no_other():
    server = Server()
    server.receive(ADA, CAROL)

    refusals = server.receive(*[EVE] * 11, *[BOB] * 11)

    refused = [None] * 10 + [Refusal.TOO_MANY_PAGES]
    assert refusals == refused * 2


def test_strangers_have_half_of_the_places_and_every_other_turn():
    server = Server()
    eve, *others = strangers(60)
    server.receive(ADA, CAROL)

    refusals = server.receive(eve, *others, ADA, BOB)

    assert refusals == [None] * 50 + [Refusal.TOO_MANY_PAGES] * 10 + [None] * 2
    assert server.started() == [ADA, CAROL]
    assert server.finish([ADA]) == [BOB]
    assert server.finish([CAROL]) == [eve]
    assert server.finish([eve]) == [ADA]
    assert server.finish([ADA]) == [others[0]]


def test_pages_of_strangers_leave_a_thread_to_people_who_are_signed_in():
    server = Server()

    server.receive(*strangers(20))

    assert server.started() == strangers(1)
    server.receive(ADA)
    assert server.started() == [ADA]


def test_known_browsers_have_a_thread_that_neither_strangers_nor_sessions_take_for_long():
    server = Server()

    server.receive(*strangers(20), *[KATE] * 2)

    assert server.started() == [*strangers(1), KATE]
    server.receive(ADA, BOB)
    assert server.finish([KATE]) == [ADA]
    assert server.finish([ADA]) == [KATE]
    assert server.finish([KATE]) == [BOB]


def test_all_browsers_of_an_account_are_one_client():
    server, credentials = Server(), KnownCredentials()
    found = [credentials.find(None, cookie_of("kate"), "10.0.0.1", is_page=True) for _ in range(12)]

    refusals = server.receive(*found)

    assert found == [KATE] * 12
    assert refusals == [None] * 11 + [Refusal.TOO_MANY_PAGES]
    assert credentials.find(None, {"HTTP_COOKIE": f"{COOKIE}=forged"}, "10.0.0.5", is_page=True) == EVE


def browser_of(account: str, address: str) -> Turn:
    return KnownCredentials().find(None, cookie_of(account), address, is_page=True)


def test_many_accounts_of_one_network_leave_a_place_and_the_next_turn_to_a_known_browser_elsewhere():
    server = Server()
    flood = [browser_of(f"eve {number}", "10.0.0.5") for number in range(60)]
    elsewhere = browser_of("kate", "198.51.100.7")

    refusals = server.receive(*flood, elsewhere)

    assert refusals == [None] * 26 + [Refusal.TOO_MANY_PAGES] * 34 + [None]
    assert server.started() == flood[:1]
    assert server.finish(flood[:1]) == [elsewhere]


def test_an_account_has_ten_waiting_pages_however_many_networks_its_browsers_are_in():
    server = Server()

    refusals = server.receive(*[browser_of("eve", f"10.0.{number}.1") for number in range(40)])

    assert refusals == [None] * 11 + [Refusal.TOO_MANY_PAGES] * 29


def test_pages_of_a_few_accounts_give_way_to_a_colleague_of_the_same_network():
    server = Server()
    flood = [browser_of(f"eve {number % 6}", "10.0.0.5") for number in range(60)]
    server.receive(*flood)

    assert server.receive(KATE) == [None]
    assert len(server.given_up) == 1


def test_the_last_waiting_places_are_for_clients_that_have_none():
    server = Server()
    server.receive(*[turn for turn in strangers(12) for _ in range(11)])

    refusals = server.receive(Turn("address of a person", "a person", is_page=True), *strangers(1))

    assert refusals == [None, Refusal.TOO_MANY_PAGES]


def turns_of(*addresses: str, method: str = "GET") -> list[Turn]:
    """Return the turns of sign-in pages, or of forms sent there, from these addresses."""
    environ = {"REQUEST_METHOD": method, "PATH_INFO": "/admin/login/"}
    clients = [client_address({"REMOTE_ADDR": address}) for address in addresses]
    return [KnownCredentials().find(None, environ, client, is_page=True) for client in clients]


SLASH_48 = [f"2001:db8:0:{number:x}::1" for number in range(256)]
SLASH_24 = [f"192.0.2.{number}" for number in range(256)]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("addresses", [SLASH_48, SLASH_24])
def test_all_addresses_of_a_network_leave_half_of_the_places_and_the_next_turn_to_others(
    addresses: list[str], method: str
):
    server, flood = Server(), turns_of(*addresses, method=method)
    [visitor] = turns_of("198.51.100.7", method=method)

    refusals = server.receive(*flood, visitor)

    assert refusals == [None] * 26 + [Refusal.TOO_MANY_PAGES] * 230 + [None]
    assert server.started() == flood[:1]
    assert server.finish(flood[:1]) == [visitor]
    assert server.finish([visitor]) == [flood[1]]


def test_when_the_places_are_full_the_largest_network_gives_way_to_one_with_fewer_pages():
    server = Server()
    floods = [turns_of(*(f"2001:db8:{network}:{number:x}::1" for number in range(40))) for network in (1, 2, 3)]
    assert [server.receive(*flood).count(None) for flood in floods[:2]] == [26, 25]
    assert server.started() == floods[0][:1]

    refusals = server.receive(*floods[2])

    assert refusals == [None] * 16 + [Refusal.TOO_MANY_PAGES] * 24
    assert [server.given_up.count(turn) for flood in floods for turn in flood].count(1) == 16
    assert {turn.group for turn in server.given_up} == {flood[0].group for flood in floods[:2]}
    assert server.receive(*turns_of("198.51.100.7")) == [None]
    assert len(server.given_up) == 17
    rest = [turn for flood in floods for turn in flood if turn not in server.given_up]
    answered, in_flight = floods[0][:1], server.finish(floods[0][:1])
    while in_flight:
        answered += in_flight
        in_flight = server.finish(in_flight)
    assert set(server.given_up).isdisjoint(answered)
    assert set(answered) <= {*rest, *turns_of("198.51.100.7")}
    assert not any(server.turns.requests.values())


def test_pages_of_strangers_have_other_places_than_their_sign_ins_and_take_turns_with_them():
    server = Server()
    sign_ins = [
        turn for third in range(3) for turn in turns_of(*(f"10.{third}.{n}.1" for n in range(50)), method="POST")
    ]
    visitors = turns_of(*(f"10.9.{number}.1" for number in range(50)))
    server.receive(*sign_ins)

    refusals = server.receive(*visitors)

    assert refusals == [None] * 50
    assert server.started() == sign_ins[:1]
    assert server.finish(sign_ins[:1]) == visitors[:1]
    assert server.finish(visitors[:1]) == sign_ins[1:2]


def test_organizations_that_fill_all_places_give_way_to_another_one():
    server = Server()
    people = [ADA._replace(client=f"person {number}", group=f"organization {number % 3}") for number in range(300)]
    server.receive(*people)

    assert server.receive(BOB) == [None]
    assert len(server.given_up) == 1


def test_waiting_pages_of_all_are_limited():
    server = Server()
    people = [
        Turn(f"organization {number}", f"person {number}", is_page=True, sender=Sender.IDENTIFIED)
        for number in range(103)
    ]

    refusals = server.receive(*people)

    assert refusals == [None] * 102 + [Refusal.TOO_MANY_PAGES]


def test_waiting_requests_are_limited_by_client_and_by_organization():
    server = Server()
    colleague, third = ACME._replace(client="10.0.0.2"), ACME._replace(client="10.0.0.3")
    server.receive(ACME, ACME)

    refusals = [server.receive(*[turn] * 201) for turn in (ACME, colleague)]

    assert refusals == [[None] * 200 + [Refusal.TOO_MANY_REQUESTS]] * 2
    assert server.receive(third) == [Refusal.TOO_MANY_REQUESTS]
    assert server.receive(GLOBEX) == [None]


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7, 16])
def test_every_request_gets_a_thread_and_nothing_is_left(threads: int):
    server = Server(threads)
    files = [turn._replace(sender=Sender.FILE) for turn in (ADA, BOB)]
    turns = [*[ACME, ADA, BOB, GLOBEX, EVE, *files] * 9, *strangers(9)]
    assert server.receive(*turns) == [None] * len(turns)

    answered, in_flight = [], server.started()
    while in_flight:
        answered += in_flight
        in_flight = server.finish(in_flight)

    assert Counter(answered) == Counter(turns)
    assert not any(server.turns.requests.values())


def test_a_closed_response_file_does_not_count_when_a_new_one_has_its_number(tmp_path: Path, settings: Any):
    settings.RESPONSES_LIMIT_PER_GROUP = 10
    files = ResponseFiles()
    with (tmp_path / "file").open("wb") as file:
        assert files.add(file.fileno(), ADA.group, 6)

    with (tmp_path / "file").open("wb") as file:  # the same inode
        assert files.add(file.fileno(), ADA.group, 6)
