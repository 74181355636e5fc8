"""The admin in a real browser: Debian's Chromium, driven by Playwright, on the real web server with the demo's data.

site        the service as processes, on a database of its own with the demo, a viewer and an empty organization
prepare     loads that data; runs in a process of its own
chromium    the browser: one signed-in context for each member, and what a page must never do
pages       every page of the admin, from its URLs, its models and their views
pictures    takes the pictures of docs/staff.md

The tests talk to the site through the browser only. Playwright runs an event loop in the tests' thread, in which
Django's models would refuse to work.
"""
