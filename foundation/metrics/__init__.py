"""Metrics for Prometheus. They are off unless the setting METRICS_TOKEN is set; docs/metrics.md lists them.

1. A label never has a value that a client, a receiver or an organization can choose, and never an id: the number of
   series is bounded, and its readers learn nothing about anyone's data.
2. A request must not get noticeably slower: it costs four additions to memory, and the timing of its statements.
3. A killed and restarted process loses no count and counts nothing twice, and leaves no files behind that add up: the
   processes of one web server count in files of a folder, and one that replaces a dead one takes over its file
   (`shared`). Any of them answers for all.
4. Prometheus scrapes each machine by itself, also while PostgreSQL or Redis is down. A worker is one process, which
   counts in memory and answers on a port of its own (`exposition`). The web server also asks the database for the
   backlog and failing endpoints (`web/metrics.py`).

Apps import `definitions` only. `shared` must not import it: the web server's parent process, which makes the folder,
would otherwise count in memory.
"""
