"""Demo data: an organization with a realistic history, in any size, for trying out and load-testing the application.

`loading` creates two organizations (`organization`) and plays a `scenario` with random `people` through the
application's own services. `growth` then adds rows in bulk: PostgreSQL copies the scenario's leads.
"""
