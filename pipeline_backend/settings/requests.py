"""Limits of requests."""

from pipeline_backend.env import read_int

WEB_THREADS = read_int("WEB_THREADS", default=4, max_value=256)  # per web process
RATE_LIMIT_PER_MINUTE = read_int("RATE_LIMIT_PER_MINUTE", default=600)
# Of a client's address. A client with a wrong key learns in a minute that it is wrong; keys can't be guessed anyway.
FAILED_KEYS_PER_MINUTE = 60
ADMIN_REQUESTS_PER_MINUTE = 300  # of a person, who reads a few pages a minute
BODY_LIMIT = DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
IMPORT_LIMIT = 10 * BODY_LIMIT  # of an uploaded file of leads or appointments
BODIES_LIMIT = 64 * BODY_LIMIT  # of all requests of a web process together, until they are answered
BODIES_LIMIT_PER_CLIENT = BODIES_LIMIT // 4
RESPONSES_LIMIT_PER_GROUP = 1024 * BODY_LIMIT  # on disk, of an organization's or network's slow readers
BODY_SECONDS = 20  # for all of a body: a mebibyte at half a megabit a second. Caddy waits longer (Caddyfile)
