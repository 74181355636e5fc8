"""Invented people. Domains and phone numbers are of the ranges that belong to nobody (RFC 2606, 555-01xx, Ofcom's drama numbers)."""

import random
from dataclasses import dataclass

FIRST = (
    "Amara Anjali Beatriz Carlos Chiara Daniel Daria Diego Elena Elif Emeka Erik Fatima Felix Freya Gabriel Grace Hamza Hannah Hiroshi "
    "Ingrid Isaac Isabel Jamal Jana Jin Jonas Josephine Kofi Kwame Laila Lars Leila Liam Lucia Maja Marco Maria Mateo Maya Mehmet Mina "
    "Nadia Naomi Niamh Noah Nora Oksana Olu Omar Paula Pedro Priya Quentin Rafael Ravi Renee Rosa Samir Sara Sofia Soren Stefan Tara "
    "Thandi Theo Tomas Uma Valentina Viktor Wei Xenia Yara Yusuf Zainab Zoe"
)
LAST = (
    "Abara Adeyemi Ahmed Almeida Andersson Baptiste Bauer Bianchi Brooks Carter Castillo Chen Cohen Costa Diallo Dubois Eriksen Evans "
    "Fernandez Fischer Flores Fraser Garcia Gruber Gupta Haddad Hansen Hassan Hoffmann Horvat Ibrahim Ivanova Jensen Johansson Kaya Keller "
    "Khan Kim Kowalska Kruger Larsen Lindqvist Lopez Mahlangu Martin Mbeki Mendes Meyer Moreau Murphy Nakamura Nguyen Novak Nowak Okafor "
    "Oliveira Olsen Osei Park Patel Pereira Petrov Popescu Quinn Rahman Ramos Reyes Ricci Rossi Sato Schmidt Silva Singh Sokolov Suzuki "
    "Tan Taylor Torres Usman Vargas Virtanen Walker Weber Wilson Wong Yamamoto Yilmaz Zhang Ziegler"
)
FIRST_NAMES, LAST_NAMES = FIRST.split(), LAST.split()
DOMAINS = ["example.com", "example.org", "example.net", "mail.example", "studio.example", "consulting.example"]
# Country, what the number begins with, how many digits follow, and from which number on.
PHONES = [
    ("US", "+1415555", 4, 100),
    ("US", "+1212555", 4, 100),
    ("CA", "+1416555", 4, 100),
    ("GB", "+447700900", 3, 0),
    ("AU", "+61491570", 3, 0),
]
HAS_NO_PHONE = 0.2


@dataclass(frozen=True)
class Person:
    """A lead as they would write themselves down."""

    first_name: str
    last_name: str
    email: str
    phone: str
    country: str


def random_person(chance: random.Random, mark: str = "") -> Person:
    """Somebody; `mark` keeps the e-mail unique where names no longer do."""
    first, last, domain = chance.choice(FIRST_NAMES), chance.choice(LAST_NAMES), chance.choice(DOMAINS)
    email = f"{first}.{last}{mark and '.'}{mark}@{domain}".lower()
    if chance.random() < HAS_NO_PHONE:
        return Person(first, last, email, "", "")
    country, prefix, digits, start = chance.choice(PHONES)
    return Person(first, last, email, f"{prefix}{start + chance.randrange(100):0{digits}d}", country)
