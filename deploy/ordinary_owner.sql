-- Makes the database's owner an ordinary role: `pipeline`, which the service signs in as, is no superuser afterwards.
-- Run it in the service's database, as the superuser that the cluster was created with. This superuser is then called
-- `postgres` and has no password, so only someone at the server itself can use it. All data stays, and `pipeline` keeps
-- the password that the cluster was created with. Running it again changes nothing.
DO $$
DECLARE
    -- The superuser of the cluster's creation. It can't be made an ordinary role, so it is renamed.
    bootstrap CONSTANT oid := 10;
    password_hash text;
    name text;
    statement text;
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'pipeline' AND NOT rolsuper) THEN
        RETURN;
    END IF;
    SELECT rolpassword INTO password_hash FROM pg_authid WHERE oid = bootstrap;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'pipeline') THEN
        -- A session can't rename its own role.
        CREATE ROLE pipeline_renaming SUPERUSER;
        SET SESSION AUTHORIZATION pipeline_renaming;
        ALTER ROLE pipeline RENAME TO postgres;
        SET SESSION AUTHORIZATION postgres;
        DROP ROLE pipeline_renaming;
    END IF;
    EXECUTE format('CREATE ROLE pipeline LOGIN PASSWORD %L', password_hash);
    ALTER ROLE postgres PASSWORD NULL;

    -- The two roles of requests, which the owner may not create (docs/operate.md, "The two database roles").
    FOREACH name IN ARRAY ARRAY['pipeline_tenant', 'pipeline_staff'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
        EXECUTE format('GRANT %I TO pipeline WITH INHERIT FALSE, SET TRUE', name);
    END LOOP;

    -- REASSIGN OWNED would include what belongs to PostgreSQL itself.
    EXECUTE format('ALTER DATABASE %I OWNER TO pipeline', current_database());
    FOR statement IN
        SELECT format('ALTER TABLE %s OWNER TO pipeline', oid::regclass)
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = bootstrap AND relkind IN ('r', 'p', 'v', 'm')
        UNION ALL
        SELECT format('ALTER SEQUENCE %s OWNER TO pipeline', oid::regclass)
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relowner = bootstrap AND relkind = 'S'
            -- The sequence of a column follows its table.
            AND NOT EXISTS (
                SELECT FROM pg_depend
                WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype IN ('a', 'i')
            )
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO pipeline', oid::regprocedure)
        FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proowner = bootstrap
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
