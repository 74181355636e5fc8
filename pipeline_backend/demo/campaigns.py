"""Marketing data of the demo: traffic sources, campaigns, forms and their questions."""

import random

from optins.models import OptInSource
from optins.serializers import QuestionAnswerData

WEBSITE = "https://northwind.example"
# UTM source, UTM medium, referrer.
TrafficSource = tuple[str, str, str | None]
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
# Id and name of the form that each source uses.
FORMS = {
    OptInSource.FORMBUILDER_A: ("frm_apply", "Application form"),
    OptInSource.LANDING_PAGE: ("page_guide", "Pricing guide"),
    OptInSource.WEBINAR: ("web_masterclass", "Free masterclass"),
    OptInSource.NEWSLETTER: ("nl_weekly", "Weekly letter"),
    OptInSource.SCHEDULER_A: ("sch_a_intake", "Discovery call intake"),
    OptInSource.SCHEDULER_B: ("sch_b_intake", "Triage intake"),
    OptInSource.SCHEDULER_C: ("sch_c_intake", "Session intake"),
}
# Each question with its possible answers; None means that it was skipped.
QUESTIONS: list[tuple[str, list[str | None]]] = [
    (
        "What is your biggest challenge right now?",
        ["Too few qualified leads", "I do everything myself", "My prices are too low", "Clients leave after a month"],
    ),
    (
        "How much do you earn in a month?",
        ["Less than $5,000", "$5,000 to $10,000", "$10,000 to $50,000", "More than $50,000"],
    ),
    ("When do you want to start?", ["Right away", "Within a month", "This quarter", None]),
    ("Who else decides?", ["Only me", "My business partner", "My spouse", None]),
]


def random_traffic(rng: random.Random, traffic_source: TrafficSource, setter_user_id: str = "") -> dict[str, str]:
    """Return the traffic fields of one submission."""
    source, medium, referrer = traffic_source
    traffic = {
        "utm_source": source,
        "utm_medium": medium,
        "utm_campaign": rng.choice(CAMPAIGNS),
        # A link that a setter shares carries the setter's user id here, and the lead becomes the setter's.
        "utm_content": setter_user_id or rng.choice(CONTENTS),
        "utm_term": rng.choice(TERMS),
        "referrer": referrer,
        "landing_page": WEBSITE + rng.choice(PAGES),
    }
    return {name: value for name, value in traffic.items() if value}


def random_answers(rng: random.Random, count: int) -> list[QuestionAnswerData]:
    """Return the first questions of a form with random answers."""
    return [
        {"question": question, "answer": rng.choice(answers), "position": position}
        for position, (question, answers) in enumerate(QUESTIONS[:count], 1)
    ]
