"""Search terms of imported rows: erasing a lead finds its rows through an index, without reading all of them.

Terms are numbers: checksums of words, e-mails, and the last nine digits of phones. Different texts can share one, so a
row with the terms of a lead is compared again (`leads.privacy.imported_rows`). The organization is part of a checksum:
many rows of another organization with the same name cost nothing.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from uuid import UUID
from zlib import crc32

import phonenumbers

# Each of these takes time that is linear in the text's length, whatever the text is.
find_words = re.compile(r"[^\W_]+").findall  # the words of a text, which consist of letters and digits
DIGITS = re.compile(r"[0-9]+")
END_OF_LOCAL_PART = re.compile(r"[\w.+-]*")  # of the reversed text
DOMAIN = re.compile(r"(?:[^\W_]|-)*(?:\.[^\W_](?:[^\W_]|-)*)*")
WITHOUT_ACCENTS = str.maketrans("łøđıæœ", "lodiao")  # these letters don't decompose
INVISIBLE = [0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF]
# What is left out or replaced before normalizing: invisible characters, the dots of domains in other scripts, and two
# characters that would become 18 times as long.
PLAIN: dict[int, str] = dict.fromkeys(INVISIBLE, "") | {0x3002: ".", 0xFF61: ".", 0xFDFA: " ", 0xFDFB: " "}
FOLDED_LETTERS = 16_384  # kept; a language needs far fewer
# A phone may be written with spaces and without its country, so the last digits are compared.
PHONE_DIGITS, MIN_PHONE_DIGITS = 9, 7
# Letters of scripts without spaces between words, after folding: Thai to Burmese, Khmer, Korean, Japanese and Chinese.
SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
MIN_FULL_NAME, MAX_NAME = 3, 20  # characters
TITLES = ("", "様", "さん", "氏", "先生", "님", "씨")  # which follow a name as its last syllables
# Different terms of a row. A note of 10,000 characters has about 1,700; a row with more than these isn't stored.
MAX_TERMS = 5000


def join_texts(texts: Iterable[str]) -> str:
    """Return the texts as one, folded, without spaces around each @."""
    return fold(" | ".join(texts)).replace("%40", "@").replace(" @", "@").replace("@ ", "@")


def fold(text: str) -> str:
    """Return the text for comparison: without case, accents, and differences of compatible characters and digits."""
    return text.lower() if text.isascii() else text.translate(Folding())


class Folding:
    """A table for `str.translate`.

    It folds each character by itself: normalizing a run of marks, or of characters that decompose into marks, takes
    time that is quadratic in the run's length. The marks, whose order that would settle, are dropped anyway.
    """

    def __getitem__(self, code: int) -> str:
        return fold_letter(code)


@lru_cache(FOLDED_LETTERS)
def fold_letter(code: int) -> str:
    if code in PLAIN or unicodedata.combining(chr(code)):
        return PLAIN.get(code, "")
    letters = unicodedata.normalize("NFKD", chr(code)).casefold()
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter)).translate(WITHOUT_ACCENTS)
    return re.sub(r"\d", lambda digit: str(int(digit[0])), plain)


def find_emails(text: str) -> Iterator[str]:
    """Yield each @ of the text with the characters around it that an e-mail can have."""
    for before, after in pairwise(text.split("@")):
        local, domain = END_OF_LOCAL_PART.match(before[::-1]), DOMAIN.match(after)
        yield f"{local[0][::-1] if local else ''}@{domain[0] if domain else ''}"


def find_phone_ends(text: str) -> Iterator[str]:
    """Yield the nine digits before each end of a group of digits, whatever separates the groups but a bar.

    Of seven or eight digits in all, yields these: some countries have such numbers.
    """
    for part in text.split("|"):
        digits = ""
        for group in DIGITS.findall(part):
            digits = (digits + group[-PHONE_DIGITS:])[-PHONE_DIGITS:]
            if len(digits) == PHONE_DIGITS:
                yield digits
        if MIN_PHONE_DIGITS <= len(digits) < PHONE_DIGITS:
            yield digits


def phone_endings(e164: str) -> list[str]:
    """Return what `find_phone_ends` finds of a phone number, in each way to write it."""
    digits = e164.lstrip("+")
    endings = [digits[-PHONE_DIGITS:]] if len(digits) >= PHONE_DIGITS else []
    if digits:
        number = phonenumbers.parse(f"+{digits}")
        national = str(number.national_number)
        # With the digits that some countries put before it, such as the first 0 of 02 555 12 12.
        dialed = "".join(DIGITS.findall(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)))
        endings += [text[-PHONE_DIGITS:] for text in (national, dialed) if len(text) >= MIN_PHONE_DIGITS]
    return sorted(set(endings))


def joined_names(first: str, last: str) -> list[str]:
    """Return the folded words that a full name can be in a script without spaces, in either order.

    A name in only one of the two fields is a full one if it is as long as one.
    """
    is_full = (first and last) or len(unicodedata.normalize("NFC", (first + last)[:MAX_NAME])) >= MIN_FULL_NAME
    if not is_full or not all(SPACELESS.search(name) for name in (first, last) if name):
        return []
    return [f"{name}{fold(title)}" for name in (first + last, last + first) for title in TITLES]


def checksums(organization_id: UUID, words: Iterable[str]) -> list[int]:
    """Return the term of each different word, as a signed number of 32 bits."""
    seed = organization_id.int & 0xFFFFFFFF
    return sorted({crc32(word.encode("utf-8", "surrogatepass"), seed) - 2**31 for word in words})


def terms_of(organization_id: UUID, texts: Iterable[str]) -> list[int]:
    text = join_texts(texts)
    return checksums(organization_id, {*find_words(text), *find_emails(text), *find_phone_ends(text)})
