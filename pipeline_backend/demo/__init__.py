"""Demo data: an organization with a realistic history, in any size, for trying out and load-testing the application.

The first run creates two organizations and plays a scenario through the application's own services:

organization_setup  the two organizations, their members, event types and custom fields
people              random people to be leads
campaigns           traffic sources, forms and answers
clock               sets the time that the services see
scenario            the plan: what happens to each lead, and when
actions             one function per kind of event in the plan; each calls services
loading             creates the organizations and runs the scenario

`--leads` and `--appointments` then add rows in bulk, because the services would take hours for a million of them:

growth              how many rows to add, and to which leads
snapshot            the ids and names of the organization's rows, which new rows refer to
generator           simulates leads in memory by the rules of the services
bulk_copy           writes the simulated rows with COPY

The command writes the API key and the password with `credentials` and `info_file`.

The management command `demo` and the benchmarks import `loading` and `growth`.
"""
