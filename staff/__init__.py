"""Staff: every page of the admin. A page calls queries and services of the apps by name; it contains no business rules.

Constraints:

1. The admin is for operators and for active members of an active organization. This is checked on every request, so a
   removed member loses access at once.
2. A user sees only what their role in each organization allows, also in the menu, on the home page and in
   autocompletion.
3. Guessing passwords is slow, per client address and per account.
4. Two people who save the same rows at the same time must not see a server error.

How the design follows:

- `site` replaces Django's site: it checks roles on every request (1), and repeats a request that PostgreSQL aborted
  because of a deadlock (4). Signing in is in `accounts` (3).
- `menu` asks each model's page for the user's permissions (2).
- `home` shows one organization of the user's, all of whose roles may see leads and appointments; its alerts are read
  through each page's own `get_queryset`, which already applies the user's roles (2).
- `toolkit` has what pages are made of; each other module or package is a subject.
- `formats` sets one date format for everybody. `templates` and `static` override the look of Unfold.

It may import every app, and nothing imports it: settings name `site`, `menu` and `home`, and Django imports `admin`.
"""
