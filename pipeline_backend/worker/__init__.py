"""The worker: sends webhooks and e-mail, runs tasks, and starts the periodic ones (`pipeline_backend.celery`)."""
