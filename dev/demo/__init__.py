"""Demo data: an organization with a realistic history, in any size, for trying out and load-testing the application.

The first run creates two organizations and plays a scenario through the application's own services; `--leads` and
`--appointments` then add rows in bulk.

loading       creates the organizations, the API key and the password, and finds them again in later runs
organization  the two organizations, their members, event types and custom fields
scenario      what happens to each lead, and when
people        random people to be leads, with their traffic sources and answers
growth        copies of the scenario's leads, made by PostgreSQL

The management command `demo` and the benchmarks import `loading` and `growth`.
"""
