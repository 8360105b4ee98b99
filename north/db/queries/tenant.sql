-- name: begin!
-- At the level that every statement is written for, whatever the database's default is.
begin isolation level read committed;

-- name: commit!
commit;

-- name: bind
select north_bind(:organization_id, :user_id);

-- name: alive
select 1 as alive;

-- name: server_process
select pg_backend_pid() as pid;

-- name: limits
-- For as long as a connection lasts; in milliseconds or with a unit.
select set_config('statement_timeout', :statement, false), set_config('lock_timeout', :lock, false),
       set_config('idle_in_transaction_session_timeout', :idle, false),
       set_config('default_transaction_isolation', 'read committed', false);
