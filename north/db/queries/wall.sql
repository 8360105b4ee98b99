-- name: hold_for_write
-- Taken before a shared memory is decided on: waits for a consultation under way, and lets other writes pass. What it
-- reads is what `memory.writer` reads.
select name, now() as now from app_user where organization_id = :organization_id and id = :user_id for share;

-- name: hold_for_consultation
-- Taken before a consultation is recorded: waits for the lawyer's writes under way, and holds back new ones.
select id from app_user where organization_id = :organization_id and id = :user_id for no key update;

-- name: taint
-- The walled source that bars this session from writing what the firm shares, if any. A thread is tainted for good, and
-- so is a session handle. Within the window, a consultation without a handle taints everything of its client, and any
-- consultation bars its client's writes without a handle.
select source from walled_consultation
where organization_id = :organization_id and user_id = :user_id
  and (thread_id = :thread_id
       or session_hash = :session_hash
       or (client = :client and consulted_at > now() - cast(:wall_window as interval)
           and (session_hash is null or cast(:session_hash as bytea) is null)))
order by consulted_at
limit 1;

-- name: insert_consultation!
insert into walled_consultation (organization_id, id, user_id, source, client, thread_id, session_hash)
values (:organization_id, :id, :user_id, :source, :client, :thread_id, :session_hash);
