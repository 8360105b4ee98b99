-- Imports: files in pieces, how far each is read, and what it brought.

-- name: insert_chunk!
insert into import_chunk (organization_id, import_id, number, user_id, piece)
values (:organization_id, :import_id, :number, :user_id, :piece);

-- name: chunk
select piece from import_chunk
where organization_id = :organization_id and import_id = :import_id and number = :number;

-- name: chunk_count
select count(*) as count from import_chunk where organization_id = :organization_id and import_id = :import_id;

-- name: files_kept
-- How many of the lawyer's files are arriving, waiting or being read.
select count(*) as files from import_chunk
where organization_id = :organization_id and user_id = :user_id and number = 0;

-- name: delete_chunks!
delete from import_chunk where organization_id = :organization_id and import_id = :import_id;

-- name: delete_unqueued_chunks!
-- Those of an upload that led to no import.
delete from import_chunk c
where c.organization_id = :organization_id and c.import_id = :import_id
  and not exists (select from import_batch b where b.organization_id = c.organization_id and b.id = c.import_id);

-- name: delete_abandoned_chunks!
-- Pieces of uploads that were never finished, and of imports that have ended.
delete from import_chunk c
where c.organization_id = :organization_id and c.user_id = :user_id
  and not exists (select from import_batch b
                  where b.organization_id = c.organization_id and b.id = c.import_id and b.status in ('queued', 'running'))
  and not exists (select from import_chunk later
                  where later.organization_id = c.organization_id and later.import_id = c.import_id
                    and later.received_at > now() - cast(:silent as interval));

-- name: insert_import
insert into import_batch (organization_id, id, user_id, file_name, status)
values (:organization_id, :import_id, :user_id, :file_name, 'queued')
returning id, file_name, status, progress, report, done, created_at, finished_at, undone_at, error_code, error;

-- name: one
select id, file_name, status, progress, report, done, created_at, finished_at, undone_at, error_code, error
from import_batch
where organization_id = :organization_id and user_id = :user_id and id = :import_id;

-- name: listed
select id, file_name, status, progress, report, done, created_at, finished_at, undone_at, error_code, error
from import_batch
where organization_id = :organization_id and user_id = :user_id
order by created_at desc, id desc
limit :limit;

-- name: start
-- A run begins, or goes on.
update import_batch set status = 'running', touched_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :import_id and status in ('queued', 'running')
returning id, file_name, status, progress, report, done, created_at, finished_at, undone_at, error_code, error;

-- name: wait
-- A run stops for a while and is to go on.
update import_batch set status = 'queued', touched_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :import_id and status = 'running'
returning id;

-- name: note_progress
-- No row comes back once the import has ended, such as by its lawyer.
update import_batch set progress = greatest(progress, :progress), touched_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :import_id and status = 'running'
returning id;

-- name: hold
-- The import, for as long as this transaction adds to it; no row when it has ended, or another run is further.
select id from import_batch
where organization_id = :organization_id and user_id = :user_id and id = :import_id and status = 'running'
  and done = :done
for no key update;

-- name: advance!
update import_batch
set done = :done, report = :report, progress = greatest(progress, :progress), touched_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :import_id;

-- name: end
-- An import ends once.
update import_batch
set status = :status, progress = case when :status = 'finished' then 1 else progress end,
    error_code = :error_code, error = :error, finished_at = now(), touched_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :import_id and status in ('queued', 'running')
returning id, file_name, status, progress, report, done, created_at, finished_at, undone_at, error_code, error;

-- name: left_alone
-- Imports that nothing has moved for a while, such as those of a command that was killed.
select id from import_batch
where organization_id = :organization_id and user_id = :user_id and status in ('queued', 'running')
  and touched_at < now() - cast(:silent as interval);

-- name: read_before
-- What was read of conversations already, and by which import. One that was undone has read nothing, and its part
-- still counts as taken.
select c.source, c.external_key, c.part, c.turns, c.batch_id, b.undone_at is not null as undone
from import_conversation c
join import_batch b on b.organization_id = c.organization_id and b.id = c.batch_id
where c.organization_id = :organization_id and c.user_id = :user_id and c.external_key = any(:external_keys);

-- name: insert_conversation!
insert into import_conversation (organization_id, id, batch_id, user_id, source, external_key, part, turns)
values (:organization_id, :id, :import_id, :user_id, :source, :external_key, :part, :turns);

-- name: insert_memory!
insert into import_memory (organization_id, batch_id, memory_id, user_id)
values (:organization_id, :import_id, :memory_id, :user_id);

-- name: lost
-- What this lawyer deleted of their own memory, or replaced, since a time. What an undone import had brought, they did
-- not delete.
select m.id, m.content, m.content_key, m.scope, m.status = 'archived' as deleted,
       coalesce(m.archived_at, m.superseded_at) as at
from agent_memory_candidate m
where m.organization_id = :organization_id and m.target_user_id = :user_id and m.status in ('archived', 'superseded')
  and (cast(:since as timestamptz) is null or coalesce(m.archived_at, m.superseded_at) > :since)
  -- Not an anti-join, for which stale statistics choose a nested loop; this is hashed.
  and (m.id, coalesce(m.archived_at, m.superseded_at)) not in (
      select brought.memory_id, b.undone_at from import_batch b
      join import_memory brought on brought.organization_id = b.organization_id and brought.batch_id = b.id
      where b.organization_id = :organization_id and b.user_id = :user_id and b.undone_at is not null);

-- name: mark_undone
update import_batch set undone_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :import_id and undone_at is null
  and status not in ('queued', 'running')
returning id;

-- name: brought
select memory_id from import_memory
where organization_id = :organization_id and user_id = :user_id and batch_id = :import_id;

-- name: archive
-- Those that are still live, gone at the time of the transaction: that of the undoing.
update agent_memory_candidate set status = 'archived', archived_at = now(), archived_by = :user_id
where organization_id = :organization_id and id = any(:memory_ids) and status = 'active'
returning id;

-- name: delete_terms!
delete from memory_term where organization_id = :organization_id and memory_id = any(:memory_ids);
