-- Preparing a Postgres, as its administrator or as a member of north_owner.

-- name: one_at_a_time
-- Until the connection ends. The number is the word "north".
select pg_advisory_lock(474316174440);

-- name: vector_version
select extversion from pg_extension where extname = 'vector';

-- name: create_vector!
create extension vector;

-- name: roles
select rolname from pg_roles where rolname in ('north_owner', 'north_app', 'scheduler_role');

-- name: create_north_owner!
create role north_owner nologin;

-- name: create_north_app!
create role north_app login;

-- name: create_scheduler_role!
create role scheduler_role login;

-- name: set_password
-- The statement that sets a password: ALTER ROLE takes no parameters, so the server quotes it.
select format('alter role %%I login password %%L', cast(:role as text), cast(:password as text)) as statement;

-- name: is_owner_member
select pg_has_role(current_user, 'north_owner', 'set') as member;

-- name: join_owner!
grant north_owner to current_user;

-- name: owner_may_create
select has_schema_privilege('north_owner', 'public', 'create') as allowed;

-- name: let_owner_create!
grant usage, create on schema public to north_owner;

-- name: become_owner!
set role north_owner;

-- name: schema_known
select to_regclass('public.alembic_version') is not null as known;

-- name: revision
select version_num from alembic_version;

-- name: share_revision!
grant select on alembic_version to north_app, scheduler_role;

-- name: jobs_known
select to_regclass('public.job_schema') is not null as known;

-- name: create_job_schema!
-- Which of the job library's own migrations this database has.
create table job_schema (migration text primary key);

-- name: job_migrations
select migration from job_schema;

-- name: record_job_migration!
insert into job_schema (migration) values (:migration);

-- name: job_grants
-- The statements that let north_app work with the job tables, which hold ids and no text.
select format('grant select, insert, update, delete on %%I to north_app', tablename) as statement
from pg_tables where schemaname = 'public' and tablename like 'procrastinate%%'
union all
select format('grant usage on sequence %%I to north_app', sequencename)
from pg_sequences where schemaname = 'public' and sequencename like 'procrastinate%%';

-- name: ensure_job_failures!
-- Why a job has failed, by kind: the job library keeps no reasons.
create table if not exists job_failure (
    job_id bigint primary key,
    reason text not null,
    failed_at timestamptz not null default now()
);

-- name: share_job_failures!
grant select, insert, update, delete on job_failure to north_app;

-- name: missing_database
-- The statement that creates a database, where there is none of this name.
select format('create database %%I', cast(:name as text)) as statement
where not exists (select from pg_database where datname = :name);

-- name: has_tables
-- Whether anything that could hold rows was made in this database, extensions aside.
select exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
) as has_tables;
