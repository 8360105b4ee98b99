-- name: insert_thread!
insert into chat_thread (organization_id, id, user_id, matter_id, incognito)
values (:organization_id, :id, :user_id, :matter_id, :incognito);

-- name: thread
select t.id, t.title, t.created_at, t.updated_at, t.deferred_requests is not null as paused, t.incognito,
       t.matter_id, matter.number as matter_number, matter.name as matter_name
from chat_thread t
left join matter on matter.organization_id = t.organization_id and matter.id = t.matter_id
where t.organization_id = :organization_id and t.user_id = :user_id and t.id = :thread_id and t.deleted_at is null;

-- name: listed
-- A lawyer's threads, the last used first; with patterns, those whose title has every word.
select t.id, t.title, t.created_at, t.updated_at, t.deferred_requests is not null as paused, t.incognito,
       t.matter_id, matter.number as matter_number, matter.name as matter_name
from chat_thread t
left join matter on matter.organization_id = t.organization_id and matter.id = t.matter_id
where t.organization_id = :organization_id and t.user_id = :user_id and t.deleted_at is null
  and (cast(:patterns as text[]) is null or t.title ilike all(:patterns))
order by t.updated_at desc, t.id desc
limit :limit;

-- name: rename!
update chat_thread set title = :title
where organization_id = :organization_id and user_id = :user_id and id = :thread_id and deleted_at is null;

-- name: delete_thread!
update chat_thread set deleted_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :thread_id and deleted_at is null;

-- name: restore_thread!
update chat_thread set deleted_at = null
where organization_id = :organization_id and user_id = :user_id and id = :thread_id;

-- name: touch!
-- A thread takes its first message as its title.
update chat_thread set updated_at = now(), title = case when title = '' then :title else title end
where organization_id = :organization_id and user_id = :user_id and id = :thread_id;

-- name: messages
-- A thread's newest messages, oldest first.
select * from (
    select id, role, content, effects, error_code, created_at
    from chat_message
    where organization_id = :organization_id and user_id = :user_id and thread_id = :thread_id
    order by id desc
    limit :limit
) newest
order by id;

-- name: message
select id, role, content, effects, error_code, created_at
from chat_message
where organization_id = :organization_id and user_id = :user_id and thread_id = :thread_id and id = :message_id;

-- name: model_history
-- What the model is replayed of a thread's newest turns, oldest first.
select * from (
    select id, role, content, model_messages
    from chat_message
    where organization_id = :organization_id and user_id = :user_id and thread_id = :thread_id
    order by id desc
    limit :limit
) newest
order by id;

-- name: insert_message!
insert into chat_message (
    organization_id, id, thread_id, user_id, role, content, model_messages, effects, error_code)
values (
    :organization_id, :id, :thread_id, :user_id, :role, :content, :model_messages, :effects, :error_code);

-- name: set_error!
update chat_message set error_code = :error_code
where organization_id = :organization_id and user_id = :user_id and id = :message_id;
