-- Asked by `north doctor`, as north_app: is this Postgres what North needs?

-- name: server
select current_setting('server_version') as version, current_setting('server_version_num')::integer as number;

-- name: roles
-- What each of North's roles could do beside its work. Membership counts, since a member can become the owner.
select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypasses,
       exists (select from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p', 'v', 'm')) as owns,
       exists (select from pg_roles o where o.rolname = 'north_owner' and pg_has_role(r.oid, o.oid, 'member')) as joins,
       exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
               where c.relkind in ('r', 'p') and has_table_privilege(r.oid, c.oid, 'truncate')) as truncates
from pg_roles r where r.rolname in ('north_owner', 'north_app', 'scheduler_role');

-- name: walled_tables
-- How many tables hold firms' rows.
select count(*) as count
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
where c.relkind in ('r', 'p');
