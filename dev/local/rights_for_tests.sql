-- Further rights for tests and benchmarks: they create databases, fill tables without triggers, cause deadlocks, and
-- watch the sessions of other roles. A few sign in as the superuser, which gets the password of `pipeline`.
DO $$
BEGIN
    ALTER ROLE pipeline CREATEDB;
    GRANT pg_monitor TO pipeline;
    GRANT SET ON PARAMETER session_replication_role, deadlock_timeout TO pipeline;
    EXECUTE format('ALTER ROLE postgres PASSWORD %L', (SELECT rolpassword FROM pg_authid WHERE rolname = 'pipeline'));
END
$$;
