-- For north/chat/paused.py alone, and gone with it.

-- name: waiting
-- What a thread of the earlier release waits for.
select deferred_requests from chat_thread
where organization_id = :organization_id and user_id = :user_id and id = :thread_id and deleted_at is null;

-- name: goes_on
-- Whoever gets a row has ended the wait.
update chat_thread set deferred_requests = null
where organization_id = :organization_id and user_id = :user_id and id = :thread_id and deferred_requests is not null
returning id;

-- name: move_messages!
-- The open call has moved to the answer that closes it.
update chat_message set model_messages = null
where organization_id = :organization_id and user_id = :user_id and id = :message_id;
