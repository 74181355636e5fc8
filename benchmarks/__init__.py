"""Performance benchmarks: this service against baselines, on the same data, in the same run.

`make bench` runs them all and prints the table that docs/performance.md explains.

Shared by all benchmarks:
  environment       databases and web servers of one run; all of them are removed when it ends
  load_generator    an HTTP client that sends requests as fast as the server responds
  measurement       alternating rounds, medians, targets, and the table
  suites            what is measured: each module yields rows of the table

Programs that the suites start in processes of their own:
  prepare           fills a database (with bulk_data, which copies rows by the million)
  deliveries        measures how many webhook deliveries the workers make
  memory            measures the memory of each process, for docs/operate.md
  booking_script    records the SQL of a booking as a script for pgbench

`make explain` is apart from the table:
  explain           shows how PostgreSQL runs the statements that meet the large tables
  explain_data      fills the database for it, with millions of deliveries
  plans             explains the statements of an operation, also for tests

Baselines:
  plain_drf         the same API in plain Django REST framework, and a "hello" view
  plain_celery      webhooks by one Celery task each, with requests and an ORM save
  pgbench           the database alone, measured by PostgreSQL's own load generator
"""
