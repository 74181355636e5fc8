"""A transactional outbox: work is a row, written in the transaction that causes it.

A booking must not wait for a webhook receiver, a mail server or Redis, and its webhooks and e-mails must be sent even
if every process dies right after the commit. So each of them is a job: a row of the app's own table (a webhook
delivery, a notification) that is inserted with the change and processed by the workers.

Constraints
  1. Nothing is lost if any process dies at any moment. Delivery is at least once; repeats are rare.
  2. A receiver that hangs does not delay the others.
  3. No transaction is open while we wait for the network.
  4. It works without Redis and without beat. Messages only shorten the wait, and carry nothing but ids.
  5. A retry sends the same bytes: a job refers to content that is stored once and not built again.

The life of a job
  1. Written: the app inserts the row in its transaction and calls `notify_on_commit`, which sends a Celery message.
  2. Claimed: a worker's dispatcher, notified or polling once a second, leases the due jobs of one group (a receiver):
     it stores a random token and a due time in the future, and commits. At most two workers lease a group's jobs. A
     queue may have a limit on jobs per period; a group that reaches it is paused, and its jobs stay due.
  3. Sent: one after another over one connection, each within a total deadline (15 s).
  4. Result stored, on the condition that the row still has our token. Results of many groups share one statement.
  5. Done, due again by the retry schedule, or dead after ten attempts.

When the process dies
  1. before the commit: there is neither change nor job. After it, before the message: polling finds the job.
  2. while claiming: the transaction rolls back. After that, before sending: the job is due again when the lease ends
     (60 s), and is then claimed by itself, because it may be what kills workers. After five such claims it is dead.
  3. while sending: the same, and the receiver may get the job twice, under the same id.
  4. before the result is committed: the same. Each connection waits for its result before it sends the next job, so a
     crash repeats at most one job per connection.
  5. after that: nothing is left to do. A worker that was only paused, and stores its result after the lease has ended,
     changes nothing: its token no longer matches.

Modules: `models` (the columns of a job), `queue` (claim, lease, release), `results` (store results in batches),
`retries` (the schedule), `group_runner` (run one group), `dispatcher` (the event loop of a worker), `executor`
(database calls in threads), `wakeup` (the messages).

Other packages import from here only:
  - `Job`, `State`: the base class of a table that is a queue, and the states of its rows.
  - `Queue`, `Result`: describe how such a table's jobs are grouped and sent, and how an attempt went.
  - `Limit`: describe how many of them may be sent in a period.
  - `notify_on_commit`: announce new jobs of a group, in the transaction that writes them.
  - `dispatch`, `run_group`: for the Celery task that such a message starts; and in this thread, for tests.
  - `Dispatcher`, `running_dispatchers`, `shutdown_requested`: for the worker process.
"""

from pipeline_backend.outbox.dispatcher import Dispatcher, dispatch, running_dispatchers
from pipeline_backend.outbox.group_runner import run_group
from pipeline_backend.outbox.models import Job, State
from pipeline_backend.outbox.queue import BATCH_SIZE, MAX_CLAIMS, Limit, Queue, shutdown_requested
from pipeline_backend.outbox.retries import Result
from pipeline_backend.outbox.wakeup import notify_on_commit

__all__ = [
    "BATCH_SIZE",
    "MAX_CLAIMS",
    "Dispatcher",
    "Job",
    "Limit",
    "Queue",
    "Result",
    "State",
    "dispatch",
    "notify_on_commit",
    "run_group",
    "running_dispatchers",
    "shutdown_requested",
]
