"""A transactional outbox: work is a row, written in the transaction that causes it.

A booking must not wait for a webhook receiver, a mail server or Redis, and its webhooks and e-mails must be sent even
if every process dies right after the commit. So each of them is a job: a row of the app's own table (a webhook
delivery, a notification) that is inserted with the change and sent by the workers.

Constraints
  1. Nothing is lost if any process dies at any moment. Delivery is at least once; repeats are rare.
  2. A receiver that hangs does not delay the others.
  3. No transaction is open while we wait for the network.
  4. It works without Redis. Messages only shorten the wait, and carry nothing but ids.
  5. A retry sends the same bytes: a job refers to content that is stored once and not built again.

The life of a job
  1. Written: the app inserts the row in its transaction and calls `notify_on_commit`, which sends a Celery message.
  2. Claimed: each worker process has a dispatcher, one event loop in a thread. Notified by the message or by its own
     polling, it takes the due jobs of one group (a receiver) in a short transaction: it stores a random token and, as
     the time at which they are due again, the end of a lease (60 s). At most two workers hold leases of a group. A
     group that reaches its limit of jobs per period is paused, and its jobs stay due.
  3. Sent: several at once if the group may have that (an endpoint gets 8; 1 while its last attempt failed), each over a
     connection of its own and within a total deadline (15 s). A sender that is free claims more, so a slow answer
     delays its own job only. If other groups wait for a place, this one waits for its next turn after a batch.
  4. Result stored, on the condition that the row still has our token. Results of many groups share one statement, and a
     connection sends its next job when its last result is stored.
  5. Done, due again by the retry schedule, or dead after ten attempts.

When the process dies (SIGKILL)
  1. before the commit: there is neither change nor job. After it, before the message: polling finds the job.
  2. while claiming: the transaction rolls back. After that, before sending: the job is due again when the lease ends,
     and is then claimed by itself, because it may be what kills workers. After five such claims it is dead.
  3. while sending: the same, and the receiver may get the job twice, under the same id.
  4. before the result is committed: the same. So a crash repeats at most one job per connection.
  5. after that: nothing is left to do. A worker that was only paused, and stores its result after the lease has ended,
     changes nothing: its token no longer matches.
On SIGTERM the dispatcher claims nothing more, finishes what it is sending and releases the rest.

Polling takes place every three seconds, so without Redis a job waits that much longer at most.

Lanes: the fast lane serves 128 groups at once and the slow lane 16, one attempt at a time. A group that keeps timing
out belongs to the slow lane until an attempt succeeds.

Other packages import from here only. An app derives its table from `Job` and describes with a `Queue` (and a `Limit`)
how its jobs are grouped, limited and sent.
"""

from foundation.outbox.dispatcher import Dispatcher, dispatch, run_group
from foundation.outbox.models import Job, Result, State
from foundation.outbox.queue import (
    FAST,
    MAX_CLAIMS,
    SLOW,
    Batch,
    ClaimedJob,
    Group,
    Lane,
    Limit,
    Queue,
    Session,
    load_queues,
)
from foundation.outbox.wakeup import WAKE_UP_TASK, notify_on_commit, publish, send_on_commit
