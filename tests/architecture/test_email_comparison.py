"""E-mail addresses are compared as the unique indexes compare them: by PostgreSQL's lower(), on both sides."""

import re

from tests.architecture.test_tenancy import files_matching


def test_no_code_compares_addresses_by_a_case_insensitive_lookup() -> None:
    """`iexact` compares UPPER(), for which i and the dotless i are one letter. Use `with_email`."""
    assert files_matching(r"e?mail__i(exact|contains|startswith|endswith|regex)") == set()


def test_the_pattern_finds_such_a_lookup() -> None:
    assert re.search(r"e?mail__i(exact|contains)", "User.objects.filter(user__email__iexact=email)")
