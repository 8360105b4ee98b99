-- name: idle_threads
-- A lawyer's threads that have been idle for a while and hold something of the lawyer's that was not mined yet.
select t.id from chat_thread t
where t.organization_id = :organization_id and t.user_id = :user_id and t.deleted_at is null and not t.incognito
  and t.updated_at <= now() - cast(:idle as interval)
  and exists (select from chat_message m
              where m.organization_id = t.organization_id and m.thread_id = t.id and m.role = 'user'
                and m.user_id = :user_id and (t.mined_through is null or m.id > t.mined_through))
order by t.updated_at
limit :limit;

-- name: thread
-- A thread to be mined, when it may be.
select t.mined_through, matter.id as matter_id, matter.number as matter_number, matter.name as matter_name
from chat_thread t
left join matter on matter.organization_id = t.organization_id and matter.id = t.matter_id
where t.organization_id = :organization_id and t.user_id = :user_id and t.id = :thread_id and t.deleted_at is null
  and not t.incognito and t.updated_at <= now() - cast(:idle as interval);

-- name: messages
-- What was said since mining last stopped, oldest first.
select m.id, m.role, m.content, m.created_at as at
from chat_message m
join chat_thread t on t.organization_id = m.organization_id and t.id = m.thread_id
where m.organization_id = :organization_id and m.user_id = :user_id and m.thread_id = :thread_id
  and (t.mined_through is null or m.id > t.mined_through)
order by m.id
limit :limit;

-- name: gone
-- What was remembered from this thread and is no longer: deleted, or replaced by a newer version.
select content, content_key, scope, status = 'archived' as deleted, coalesce(archived_at, superseded_at) as at
from agent_memory_candidate
where organization_id = :organization_id and source_thread_id = :thread_id and status in ('archived', 'superseded');

-- name: advance
-- Marks messages as mined, once: whoever comes second finds no row, and so does who comes after the thread was deleted.
update chat_thread set mined_through = :through
where organization_id = :organization_id and user_id = :user_id and id = :thread_id
  and mined_through is not distinct from cast(:before as uuid) and deleted_at is null and not incognito
returning id;
