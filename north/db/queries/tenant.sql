-- name: begin!
-- At the level that every statement is written for, whatever the database's default is.
begin isolation level read committed;

-- name: commit!
commit;

-- name: bind
-- Kept plans are for recalls and saves, whose best plan is the same whatever is asked. Left to itself, the server plans
-- anew each time, at half a recall's cost. None of them reads a whole table: a plan that does not know how much it will
-- read would, while a firm is small.
select north_bind(:organization_id, :user_id),
       case when :keep_plans then set_config('plan_cache_mode', 'force_generic_plan', true) end,
       case when :keep_plans then set_config('enable_seqscan', 'off', true) end,
       case when :read_only then set_config('transaction_read_only', 'on', true) end;

-- name: admit
-- As `bind`; fails, and with it all that follows in the transaction, unless the key leads to whom it is bound to.
select north_admit(:kind, :key_hash, :organization_id, :user_id),
       case when :keep_plans then set_config('plan_cache_mode', 'force_generic_plan', true) end,
       case when :keep_plans then set_config('enable_seqscan', 'off', true) end,
       case when :read_only then set_config('transaction_read_only', 'on', true) end;

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
