-- What tests and benchmarks need besides: they create databases, fill tables without triggers, cause deadlocks, and wait
-- for what other roles' sessions do. A few work as the superuser, who gets the password of `pipeline`.
DO $$
BEGIN
    ALTER ROLE pipeline CREATEDB;
    GRANT pg_monitor TO pipeline;
    GRANT SET ON PARAMETER session_replication_role, deadlock_timeout TO pipeline;
    EXECUTE format('ALTER ROLE postgres PASSWORD %L', (SELECT rolpassword FROM pg_authid WHERE rolname = 'pipeline'));
END
$$;
