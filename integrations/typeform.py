"""Relays Typeform's responses as opt-ins.

The e-mail is the first answer of the type e-mail, else the hidden field `email`. The name comes from a contact-info
question, from questions with the refs first_name and last_name, or from hidden fields with these names; else it is the
part of the e-mail before the @. UTM values, `referrer` and `landing_page` come from hidden fields. All other answers
are stored as questions and answers, also a phone number: Typeform doesn't send the country that the service needs.
"""

import base64
import hmac
import os
from urllib.parse import quote
from wsgiref.simple_server import make_server
from wsgiref.types import WSGIEnvironment

from integrations.relay import Json, digest, relay

TRAFFIC = ("utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "referrer", "landing_page")


def is_signed(environ: WSGIEnvironment, body: bytes) -> bool:
    """Check `Typeform-Signature: sha256=<base64 of the body's HMAC>`."""
    expected = b"sha256=" + base64.b64encode(digest(body))
    return hmac.compare_digest(expected, environ.get("HTTP_TYPEFORM_SIGNATURE", "").encode())


def text_of(answer: Json) -> object:
    """Return the answer as the service takes it: a text, number, boolean, object or list."""
    value = answer[answer["type"]]
    if answer["type"] == "choice":
        return value.get("label") or value.get("other")
    if answer["type"] == "choices":
        return [*(value.get("labels") or []), *([value["other"]] if value.get("other") else [])]
    return value


def translate(webhook: Json) -> tuple[str, Json] | None:
    if webhook["event_type"] != "form_response":
        return None
    response = webhook["form_response"]
    form, hidden = response["definition"], response.get("hidden") or {}
    fields: dict[str, Json] = {}
    for field in form["fields"]:
        # A contact-info question has fields of its own.
        fields |= {each["id"]: each for each in (field, *field.get("properties", {}).get("fields", []))}
    known: dict[str, str] = {}
    rest = []
    for answer in response.get("answers") or []:
        field = fields.get(answer["field"]["id"], answer["field"])
        name = field.get("subfield_key") or field.get("ref")
        if answer["type"] == "email" and "email" not in known:
            known["email"] = answer["email"]
        elif answer["type"] == "text" and name in ("first_name", "last_name"):
            known[name] = answer["text"]
        else:
            rest.append({"question": field.get("title") or field["id"], "answer": text_of(answer)})
    known = {name: hidden[name] for name in ("email", "first_name", "last_name") if hidden.get(name)} | known
    if "email" not in known:  # an opt-in without one can't be stored
        return None
    body = {
        "changed_at": response["submitted_at"],
        "email": known["email"],
        "first_name": known.get("first_name") or known["email"].partition("@")[0],
        "last_name": known.get("last_name"),
        "provider_form_id": response["form_id"],
        "provider_form_name": form["title"],
        "traffic": {name: hidden[name] for name in TRAFFIC if name in hidden},
        "questions_answers": rest,
    }
    return f"{os.environ.get('SOURCE', 'FORMBUILDER_A')}/opt-ins/{quote(response['token'], safe='')}", body


application = relay(is_signed, translate)

if __name__ == "__main__":
    make_server(os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8080")), application).serve_forever()
