"""Random leads with their traffic sources, forms and answers.

Domains and phone numbers are reserved for examples and fiction, so that no real person is ever contacted: domains of
RFC 2606, 555-01xx numbers, Ofcom's numbers for drama.
"""

import random
from typing import Any, NamedTuple

from optins.models import OptInSource
from optins.serializers import QuestionAnswerData

FIRST_NAMES = """
Amara Anjali Beatriz Carlos Chiara Daniel Daria Diego Elena Elif Emeka Erik Fatima Felix Freya Gabriel Grace Hamza
Hannah Hiroshi Ingrid Isaac Isabel Jamal Jana Jin Jonas Kofi Kwame Laila Lars Leila Liam Lucia Maja Marco Maria Mateo
Maya Mehmet Mina Nadia Naomi Niamh Noah Nora Oksana Olu Omar Paula Pedro Priya Rafael Ravi Rosa Samir Sara Sofia Soren
Stefan Tara Thandi Theo Tomas Uma Valentina Viktor Wei Xenia Yara Yusuf Zainab Zoe
""".split()  # noqa: SIM905
LAST_NAMES = """
Abara Adeyemi Ahmed Almeida Andersson Baptiste Bauer Bianchi Brooks Carter Castillo Chen Cohen Costa Diallo Dubois
Eriksen Evans Fernandez Fischer Flores Fraser Garcia Gruber Gupta Haddad Hansen Hassan Hoffmann Horvat Ibrahim Ivanova
Jensen Kaya Keller Khan Kim Kowalska Larsen Lopez Mahlangu Martin Mendes Meyer Moreau Murphy Nakamura Nguyen Novak
Okafor Olsen Park Patel Pereira Petrov Quinn Rahman Ramos Reyes Ricci Rossi Sato Schmidt Silva Singh Suzuki Tan Taylor
Torres Usman Vargas Virtanen Walker Weber Wilson Wong Yamamoto Yilmaz Zhang Ziegler
""".split()  # noqa: SIM905
DOMAINS = ["example.com", "example.org", "example.net", "mail.example", "studio.example", "consulting.example"]
# Country, prefix of the number, number of the digits that follow, and the first value of these digits.
PHONES = [("US", "+1415555", 4, 100), ("CA", "+1416555", 4, 100), ("GB", "+447700900", 3, 0), ("AU", "+61491570", 3, 0)]
WEBSITE = "https://northwind.example"
TrafficSource = tuple[str, str, str | None]  # UTM source, UTM medium, referrer
TRAFFIC_SOURCES: list[TrafficSource] = [
    ("facebook", "paid_social", "https://www.facebook.com/"),
    ("google", "cpc", "https://www.google.com/"),
    ("newsletter", "email", None),
    ("instagram", "paid_social", "https://www.instagram.com/"),
    ("youtube", "video", "https://www.youtube.com/"),
    ("linkedin", "social", "https://www.linkedin.com/"),
    ("podcast", "audio", None),
]
CAMPAIGNS = ["spring-launch", "free-masterclass", "pricing-guide", "founders-challenge", "retargeting"]
CONTENTS = ["video-a", "video-b", "carousel", "story", "headline-2"]
TERMS = ["business coach", "scale agency", "sales coaching", "executive coaching", None]
PAGES = ["/masterclass", "/apply", "/pricing-guide", "/webinar", "/"]
FORMS: dict[OptInSource, dict[str, Any]] = {
    source: {"provider_form_id": f"frm_{source.lower()}", "provider_form_name": name}
    for source, name in {
        OptInSource.FORMBUILDER_A: "Application form",
        OptInSource.LANDING_PAGE: "Pricing guide",
        OptInSource.WEBINAR: "Free masterclass",
        OptInSource.NEWSLETTER: "Weekly letter",
        OptInSource.SCHEDULER_A: "Discovery call intake",
    }.items()
}
# Each question with its possible answers; None means that it was skipped.
QUESTIONS: list[tuple[str, list[str | None]]] = [
    ("What is your biggest challenge right now?", ["Too few leads", "My prices are too low", "I do it all myself"]),
    ("How much do you earn in a month?", ["Less than $5,000", "$5,000 to $50,000", "More than $50,000"]),
    ("When do you want to start?", ["Right away", "Within a month", "This quarter", None]),
    ("Who else decides?", ["Only me", "My business partner", "My spouse", None]),
]


class Person(NamedTuple):
    """A lead as the person would fill in a form. Phone and country are empty if there is no phone."""

    first_name: str
    last_name: str
    email: str
    phone: str
    country: str


def random_person(rng: random.Random, suffix: str = "") -> Person:
    """Return a random person. `suffix` makes the e-mail unique if there are more people than names."""
    first, last, domain = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES), rng.choice(DOMAINS)
    email = f"{first}.{last}{suffix and '.'}{suffix}@{domain}".lower()
    if rng.random() < 0.2:
        return Person(first, last, email, "", "")
    country, prefix, digits, start = rng.choice(PHONES)
    return Person(first, last, email, f"{prefix}{start + rng.randrange(100):0{digits}d}", country)


def same_person(person: Person, same: str) -> Person:
    """Return the person as they fill in another form, with the same "mailbox", "phone" or "name"."""
    first, last = person.first_name.lower(), person.last_name.lower()
    if same == "phone":
        return person._replace(last_name="", email=f"{first}@office.example")
    email = person.email.replace("@", "+webinar@") if same == "mailbox" else f"{first[0]}.{last}@home.example"
    return person._replace(email=email, phone="", country="")


def random_traffic(rng: random.Random, traffic_source: TrafficSource, setter_user_id: str = "") -> dict[str, str]:
    source, medium, referrer = traffic_source
    term = rng.choice(TERMS)
    fields = {
        "utm_source": source,
        "utm_medium": medium,
        "utm_campaign": rng.choice(CAMPAIGNS),
        # A link that a setter shares carries the setter's user id here, and the lead becomes the setter's.
        "utm_content": setter_user_id or rng.choice(CONTENTS),
        "utm_term": term,
        "landing_page": WEBSITE + rng.choice(PAGES),
        "referrer": referrer,
    }
    return {name: value for name, value in fields.items() if value}


def random_answers(rng: random.Random, count: int) -> list[QuestionAnswerData]:
    return [
        {"question": question, "answer": rng.choice(answers), "position": position}
        for position, (question, answers) in enumerate(QUESTIONS[:count], 1)
    ]
