-- Asked at start-up, as north_app: does the database still keep firms apart?

-- name: role
-- The role may neither bypass row-level security nor own what it guards.
select current_user as name, r.rolsuper or r.rolbypassrls as bypasses,
       exists (select from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p')) as owns
from pg_roles r where r.rolname = current_user;

-- name: unguarded
-- Tables of firms' rows on which row-level security is not enabled and forced, or which have no policy.
select c.relname as table_name
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
where c.relkind in ('r', 'p')
  and not (c.relrowsecurity and c.relforcerowsecurity
           and exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive))
order by 1;

-- name: volatile_context
-- Context functions that a cached plan could freeze.
select p.proname as function_name
from pg_proc p join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'public'
where p.proname in ('north_organization', 'north_user') and p.provolatile <> 's';

-- name: seen
-- Whether the transaction sees a row that is not its own. It is bound to no lawyer, so that it may see nothing of
-- anybody's: of another firm nothing, of its own firm nothing personal.
--
-- Each question is a range of an index that the walls leave empty, so that the answer takes no longer in a large firm:
-- other firms come before or after one's own, and so do the lawyers among its owners.
with own as (
    select coalesce(cast(:organization_id as uuid), 'ffffffff-ffff-ffff-ffff-ffffffffffff') as id
)
select exists (select from organization where organization_id < (select id from own))
    or exists (select from organization where organization_id > (select id from own))
    or exists (select from app_user where organization_id < (select id from own))
    or exists (select from app_user where organization_id > (select id from own))
    or exists (select from matter where organization_id < (select id from own))
    or exists (select from matter where organization_id > (select id from own))
    or exists (select from agent_memory_candidate where organization_id < (select id from own))
    or exists (select from agent_memory_candidate where organization_id > (select id from own))
    or exists (select from agent_memory_candidate
               where organization_id = :organization_id and owner_id < :organization_id and status = 'active')
    or exists (select from agent_memory_candidate
               where organization_id = :organization_id and owner_id > :organization_id and status = 'active')
    or exists (select from memory_term where organization_id < (select id from own))
    or exists (select from memory_term where organization_id > (select id from own))
    or exists (select from memory_term where organization_id = :organization_id and owner_id < :organization_id)
    or exists (select from memory_term where organization_id = :organization_id and owner_id > :organization_id)
    or exists (select from memory_use where organization_id < (select id from own))
    or exists (select from memory_use where organization_id > (select id from own))
    or exists (select from app_user u cross join lateral (
                   select from memory_use
                   where organization_id = :organization_id and target_user_id = u.id limit 1) personal
               where u.organization_id = :organization_id)
    or exists (select from memory_use_total where organization_id < (select id from own))
    or exists (select from memory_use_total where organization_id > (select id from own))
    or exists (select from memory_use_total where organization_id = :organization_id and owner_id < :organization_id)
    or exists (select from memory_use_total where organization_id = :organization_id and owner_id > :organization_id)
    or exists (select from user_password)
    or exists (select from chat_thread)
    or exists (select from chat_message)
    or exists (select from memory_rule)
    or exists (select from memory_rule_suggestion)
    or exists (select from walled_consultation)
    or exists (select from idempotency_key)
    or exists (select from product_event)
    or exists (select from import_batch)
    or exists (select from import_chunk)
    or exists (select from import_conversation)
    or exists (select from import_memory)
    or exists (select from web_session)
    or exists (select from access_token)
    or exists (select from oauth_grant)
    or exists (select from connection)
    as foreign_rows;

-- name: any_firm
select firm_id from lookup_key where kind = 'firm' limit 1;
