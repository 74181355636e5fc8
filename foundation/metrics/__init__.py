"""Metrics for Prometheus. They are off unless the setting METRICS_TOKEN is set; docs/metrics.md lists them.

Constraints:

1. A label never has a value that a client, a receiver or an organization can choose, and never an id: the number of
   series is bounded, and its readers learn nothing about anyone's data.
2. A request must not get noticeably slower: it costs four additions to memory, and the timing of its statements.
3. A killed and restarted process loses no count and counts nothing twice, and leaves no files behind that add up.
4. Prometheus scrapes each machine by itself, also while PostgreSQL or Redis is down.

How the design follows:

- `definitions` has all metrics that processes count, and `request_times`, which sums up a request's time in PostgreSQL
  and in Redis.
- The processes of one web server count in files of a folder in common, and any of them answers for all (`shared`). The
  folder is new with each start of the server. In it each process takes a numbered place; a process that replaces a dead
  one takes its place and continues to count in its files (3).
- A worker is one process: it counts in memory and answers on a port of its own (`exposition.start_server`).
- What the database knows (the backlog, failing endpoints) is asked when a web server is scraped (`web/metrics.py`).

Apps import `definitions` only. `shared` must not import it: the web server's parent process, which makes the folder,
would otherwise count in memory.
"""
