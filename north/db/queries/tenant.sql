-- name: begin!
begin;

-- name: commit!
commit;

-- name: bind
select north_bind(:organization_id, :user_id);

-- name: alive
select 1 as alive;

-- name: server_process
select pg_backend_pid() as pid;
