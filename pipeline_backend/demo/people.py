"""Random people to be leads.

Their domains and phone numbers are reserved for examples and fiction, so that nobody real is ever contacted: domains
of RFC 2606, 555-01xx numbers, Ofcom's numbers for drama.
"""

import random
from dataclasses import dataclass

FIRST = (
    "Amara Anjali Beatriz Carlos Chiara Daniel Daria Diego Elena Elif Emeka Erik Fatima Felix Freya Gabriel Grace "
    "Hamza Hannah Hiroshi Ingrid Isaac Isabel Jamal Jana Jin Jonas Josephine Kofi Kwame Laila Lars Leila Liam Lucia "
    "Maja Marco Maria Mateo Maya Mehmet Mina Nadia Naomi Niamh Noah Nora Oksana Olu Omar Paula Pedro Priya Quentin "
    "Rafael Ravi Renee Rosa Samir Sara Sofia Soren Stefan Tara Thandi Theo Tomas Uma Valentina Viktor Wei Xenia Yara "
    "Yusuf Zainab Zoe"
)
LAST = (
    "Abara Adeyemi Ahmed Almeida Andersson Baptiste Bauer Bianchi Brooks Carter Castillo Chen Cohen Costa Diallo "
    "Dubois Eriksen Evans Fernandez Fischer Flores Fraser Garcia Gruber Gupta Haddad Hansen Hassan Hoffmann Horvat "
    "Ibrahim Ivanova Jensen Johansson Kaya Keller Khan Kim Kowalska Kruger Larsen Lindqvist Lopez Mahlangu Martin "
    "Mbeki Mendes Meyer Moreau Murphy Nakamura Nguyen Novak Nowak Okafor Oliveira Olsen Osei Park Patel Pereira "
    "Petrov Popescu Quinn Rahman Ramos Reyes Ricci Rossi Sato Schmidt Silva Singh Sokolov Suzuki Tan Taylor Torres "
    "Usman Vargas Virtanen Walker Weber Wilson Wong Yamamoto Yilmaz Zhang Ziegler"
)
FIRST_NAMES, LAST_NAMES = FIRST.split(), LAST.split()
DOMAINS = ["example.com", "example.org", "example.net", "mail.example", "studio.example", "consulting.example"]
# Country, prefix of the number, number of the digits that follow, and the first value of these digits.
PHONES = [
    ("US", "+1415555", 4, 100),
    ("US", "+1212555", 4, 100),
    ("CA", "+1416555", 4, 100),
    ("GB", "+447700900", 3, 0),
    ("AU", "+61491570", 3, 0),
]
NO_PHONE_SHARE = 0.2


@dataclass(frozen=True)
class Person:
    """A lead as the person would fill in a form. Phone and country are empty if there is no phone."""

    first_name: str
    last_name: str
    email: str
    phone: str
    country: str


def random_person(rng: random.Random, suffix: str = "") -> Person:
    """Return a random person. `suffix` makes the e-mail unique where there are more people than names."""
    first, last, domain = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES), rng.choice(DOMAINS)
    email = f"{first}.{last}{suffix and '.'}{suffix}@{domain}".lower()
    if rng.random() < NO_PHONE_SHARE:
        return Person(first, last, email, "", "")
    country, prefix, digits, start = rng.choice(PHONES)
    return Person(first, last, email, f"{prefix}{start + rng.randrange(100):0{digits}d}", country)
