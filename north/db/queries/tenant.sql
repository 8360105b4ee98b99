-- name: begin!
-- At the level that every statement is written for, whatever the database's default is.
begin isolation level read committed;

-- name: commit!
commit;

-- name: bind
select north_bind(:organization_id, :user_id);

-- name: bind_keeping_plans
-- For recalls and saves, whose best plan is the same whatever is asked. Left to itself, the server plans anew each time,
-- at half a recall's cost.
select north_bind(:organization_id, :user_id), set_config('plan_cache_mode', 'force_generic_plan', true);

-- name: admit
-- Fails, and with it the transaction and all that follows in it, unless the key leads to whom the transaction is bound
-- to, and they may come in: `nobody` is no uuid.
select cast(coalesce((
    select cast(u.id as text)
    from lookup_key k join app_user u on u.organization_id = k.firm_id and u.id = k.user_id
    where k.kind = :kind and k.key_hash = :key_hash and (k.expires_at is null or k.expires_at > now())
      and k.firm_id = :organization_id and k.user_id = :user_id
      and u.organization_id = north_organization() and u.id = north_user() and u.disabled_at is null
), :nobody) as uuid) as user_id;

-- name: alive
select 1 as alive;

-- name: server
-- Which process answers, and the time by its clock.
select pg_backend_pid() as pid, clock_timestamp() as now;

-- name: limits
-- For as long as a connection lasts. A limit that the operator has set for the role or the database stays.
select set_config(given.name, given.value, false)
from (values ('statement_timeout', cast(:statement as text)), ('lock_timeout', :lock),
             ('idle_in_transaction_session_timeout', :idle), ('default_transaction_isolation', 'read committed'))
     as given (name, value)
where current_setting(given.name) in ('0', 'repeatable read', 'serializable');
