-- name: consulted_in_thread
-- The walled source that this thread has read from, if any.
select source from walled_consultation
where organization_id = :organization_id and user_id = :user_id and thread_id = :thread_id
order by consulted_at
limit 1;

-- name: insert_consultation!
insert into walled_consultation (organization_id, id, user_id, source, client, thread_id, session_hash)
values (:organization_id, :id, :user_id, :source, :client, :thread_id, :session_hash);
