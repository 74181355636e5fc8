"""Relays submissions of Typeform as opt-ins: python typeform.py, or with any WSGI server `typeform:application`.

The form needs a question of the type E-mail. Hidden fields named utm_source and so on become the traffic source.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from relay import Event, State, relay, serve

TRAFFIC = ("utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term")


def verify(body: bytes, headers: Mapping[str, str], secret: bytes) -> bool:
    digest = base64.b64encode(hmac.new(secret, body, hashlib.sha256).digest()).decode()
    return hmac.compare_digest(f"sha256={digest}".encode(), headers.get("typeform-signature", "").encode())


def read(event: Event) -> State | None:
    if event["event_type"] != "form_response":
        return None
    form, hidden = event["form_response"], event["form_response"].get("hidden") or {}
    titles = {field["id"]: field["title"] for field in form["definition"]["fields"]}
    answers = [(titles.get(answer["field"]["id"], ""), answer["type"], value_of(answer)) for answer in form["answers"]]
    email = next(value for _, type, value in answers if type == "email")
    state = {
        "changed_at": form["submitted_at"],
        "email": email,
        "first_name": name_in(answers, "first name", "name") or email.partition("@")[0],
        "last_name": name_in(answers, "last name"),
        "provider_form_id": form["form_id"],
        "provider_form_name": form["definition"].get("title"),
        "traffic": {name: hidden[name] for name in TRAFFIC if name in hidden},
        "questions_answers": [
            {"question": title or "Question", "answer": value} for title, type, value in answers if type != "email"
        ],
    }
    return f"{os.environ.get('SOURCE', 'FORMBUILDER_A')}/opt-ins/{quote(form['token'], safe='')}", state


def value_of(answer: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any JSON value
    value = answer[answer["type"]]
    if not isinstance(value, Mapping):
        return value
    return value.get("label") or value.get("labels") or value.get("other")


def name_in(answers: list[tuple[str, str, Any]], *titles: str) -> str | None:
    """Return the answer to a question with one of these titles."""
    return next((value for title, _, value in answers if title.strip().lower().rstrip("?:") in titles), None)


application = relay(verify, read)

if __name__ == "__main__":
    serve(application)
