-- name: by_ids
-- Memories as they are shown, in no particular order.
select m.id, m.content, m.type, m.scope, m.status, m.confidence, m.origin, m.created_at, m.evidence,
       m.supersedes_id, m.superseded_at, m.archived_at, m.source_thread_id, m.source_message_id, m.source_label,
       m.target_matter_id as matter_id, matter.number as matter_number, matter.name as matter_name,
       m.captured_by as captured_by_id, capturer.name as captured_by_name,
       m.archived_by as archived_by_id, archiver.name as archived_by_name,
       thread.title as thread_title, thread.deleted_at as thread_deleted_at,
       coalesce(used.uses, 0) as uses, used.last_used_at
from agent_memory_candidate m
left join matter on matter.organization_id = m.organization_id and matter.id = m.target_matter_id
left join app_user capturer on capturer.organization_id = m.organization_id and capturer.id = m.captured_by
left join app_user archiver on archiver.organization_id = m.organization_id and archiver.id = m.archived_by
-- A title is its lawyer's own; the policy of threads hides a colleague's.
left join chat_thread thread
    on thread.organization_id = m.organization_id and thread.id = m.source_thread_id and thread.user_id = :user_id
left join lateral (
    select t.uses, t.last_used_at from memory_use_total t
    where t.organization_id = :organization_id and t.owner_id = m.owner_id and t.memory_id = m.id
    offset 0
) used on true
where m.organization_id = :organization_id and m.id = any(:ids);

-- name: page
-- The ids of one page, newest first, after the cursor.
select m.id, m.created_at
from agent_memory_candidate m
where m.organization_id = :organization_id
  and m.status = :status and m.length < 2147483647
  and (cast(:scope as memory_scope) is null or m.scope = :scope)
  and (cast(:type as memory_type) is null or m.type = :type)
  and (cast(:origin as memory_origin) is null or m.origin = :origin)
  and (cast(:matter_id as uuid) is null or m.bucket = :matter_id)
  -- For the index: what is personal is in the lawyer's own bucket.
  and (cast(:scope as memory_scope) is null or cast(:scope as memory_scope) <> 'user_private' or m.bucket = :user_id)
  and (cast(:patterns as text[]) is null or m.content ilike all(:patterns))
  and (cast(:after_time as timestamptz) is null or (m.created_at, m.id) < (:after_time, cast(:after_id as uuid)))
order by m.created_at desc, m.id desc
limit :limit;

-- name: found
-- The ids of one page of a search: what has each of its words, the newest first, and below it what is close in meaning,
-- the closest first. Exact: every row that the filters leave is compared.
with filtered as materialized (
    select m.id, m.created_at, m.content ilike all(cast(:patterns as text[])) as worded,
           case when m.embedding_model = :embedding_model
                then - (m.embedding <#> cast(:query_vector as halfvec)) end as cosine
    from agent_memory_candidate m
    where m.organization_id = :organization_id
      and m.status = :status and m.length < 2147483647
      and (cast(:scope as memory_scope) is null or m.scope = :scope)
      and (cast(:type as memory_type) is null or m.type = :type)
      and (cast(:origin as memory_origin) is null or m.origin = :origin)
      and (cast(:matter_id as uuid) is null or m.bucket = :matter_id)
      -- For the index: what is personal is in the lawyer's own bucket.
      and (cast(:scope as memory_scope) is null or cast(:scope as memory_scope) <> 'user_private' or m.bucket = :user_id)
)
select id, worded from filtered
where worded or cosine >= :least_cosine
order by worded desc, case when worded then created_at end desc nulls last, case when worded then id end desc nulls last,
         cosine desc nulls last, id desc
limit :limit offset :offset;

-- name: writer
-- Who writes, by name, and the time that this transaction's rows will have.
select name, now() as now from app_user where organization_id = :organization_id and id = :user_id;

-- name: live_twins
-- Live rows with one of these texts, in whichever bucket.
select id, content_key, scope, target_user_id, target_matter_id
from agent_memory_candidate
where organization_id = :organization_id and content_key = any(:content_keys) and status = 'active';

-- name: for_change
-- One memory, locked, so that of two editors the second sees what the first did.
select id, scope, type, content, content_key, status, target_user_id, target_matter_id, supersedes_id, source_thread_id
from agent_memory_candidate
where organization_id = :organization_id and id = :memory_id
for no key update;

-- name: insert_memory!
insert into agent_memory_candidate (
    organization_id, id, scope, type, target_user_id, target_matter_id, content, content_key, length, status,
    confidence, origin, source_thread_id, source_message_id, source_label, captured_by, evidence, supersedes_id,
    created_at)
values (
    :organization_id, :id, :scope, :type, :target_user_id, :target_matter_id, :content, :content_key, :length,
    'active', :confidence, :origin, :source_thread_id, :source_message_id, :source_label, :captured_by, :evidence,
    :supersedes_id, coalesce(cast(:captured_at as timestamptz), now()));

-- name: insert_terms!
-- As arrays, here and below: however many there are, it is one statement, whose plan is kept.
insert into memory_term (organization_id, bucket, term, memory_id, tf, length, scope, target_user_id)
select :organization_id, :bucket, term, :memory_id, tf, :length, :scope, :target_user_id
from unnest(cast(:terms as text[]), cast(:counts as int[])) as counted (term, tf);

-- name: delete_terms!
delete from memory_term where organization_id = :organization_id and memory_id = :memory_id;

-- name: supersede!
update agent_memory_candidate set status = 'superseded', superseded_at = now()
where organization_id = :organization_id and id = :memory_id and status = 'active';

-- name: archive!
update agent_memory_candidate set status = 'archived', archived_at = now(), archived_by = :user_id
where organization_id = :organization_id and id = :memory_id and status = 'active';

-- name: restore!
update agent_memory_candidate set status = 'active', archived_at = null, archived_by = null
where organization_id = :organization_id and id = :memory_id and status = 'archived';

-- name: lineage
-- Every version that leads to this one or comes from it.
with recursive older as (
    select id, supersedes_id from agent_memory_candidate
    where organization_id = :organization_id and id = :memory_id
    union
    select m.id, m.supersedes_id from agent_memory_candidate m
    join older on m.id = older.supersedes_id
    where m.organization_id = :organization_id
), newer as (
    select id from older
    union
    select m.id from agent_memory_candidate m
    join newer on m.supersedes_id = newer.id
    where m.organization_id = :organization_id
)
select id from newer;

-- name: live_in_lineage
-- The version that stands now, of the family of an id.
with recursive newer as (
    select id, status from agent_memory_candidate
    where organization_id = :organization_id and id = :memory_id
    union
    select m.id, m.status from agent_memory_candidate m
    join newer on m.supersedes_id = newer.id
    where m.organization_id = :organization_id
)
select id from newer where status = 'active' limit 1;

-- name: similar
-- Live rows of a bucket that share at least `least_shared` of a text's terms, by the weight of the terms they share: the
-- rarer in the bucket, the heavier. The cost depends on neither the bucket's size nor how common the terms are: of each,
-- the `counted` newest postings are read. A row that shares k of the terms has at least k - c of those that are not
-- common, when c are; so these call every row that can be meant (the prefix filter of Chaudhuri, Ganti and Kaushik, 2006),
-- and the most likely of the called are looked up under all terms. Common terms call their newest rows.
with place as materialized (
    select coalesce(cast(:bucket as uuid), (
        select matter.id from matter
        where matter.organization_id = :organization_id
          and (matter.number = :matter or matter.id = cast(:matter_id as uuid)))) as bucket
), word as materialized (
    select given.term, newest.df, newest.df = :counted as common, 1 / ln(1 + newest.df) as weight, newest.ids
    from unnest(cast(:terms as text[])) as given (term)
    cross join lateral (
        select count(*) as df, array_agg(posting.memory_id) as ids
        from (select t.memory_id from memory_term t
              where t.organization_id = :organization_id and t.owner_id = :owner_id
                and t.bucket = (select bucket from place) and t.term = given.term
              order by t.memory_id desc
              limit :counted) as posting) as newest
    where newest.df > 0
), called as materialized (
    select call.id
    from word
    cross join lateral unnest(case when word.common then word.ids[1 : :called_by_common] else word.ids end) as call (id)
    group by call.id
    having count(*) >= :least_shared - (select count(*) from word where common)
    order by coalesce(sum(word.weight) filter (where not word.common), 0) desc, count(*) desc, call.id desc
    limit :checked
)
select called.id as memory_id, sum(word.weight) as weight
from called
-- Not to be pulled up: one memory after the other, each by its id. The bucket is not named: with it, in a large firm the
-- server takes the key, which is a search for each memory and word.
cross join lateral (
    select t.term from memory_term t
    where t.organization_id = :organization_id and t.memory_id = called.id and t.term = any(:terms)
    offset 0) as posting
join word on word.term = posting.term
group by called.id
having count(*) >= :least_shared
order by weight desc, called.id desc
limit :limit;

-- name: to_embed
-- Live rows without a vector of this model.
select id, content
from agent_memory_candidate
where organization_id = :organization_id and status = 'active'
  and (scope <> 'user_private' or target_user_id = :user_id)
  and (cast(:ids as uuid[]) is null or id = any(:ids))
  and (embedding is null or embedding_model <> :embedding_model)
order by id
limit :limit;

-- name: set_embedding!
update agent_memory_candidate set embedding = cast(:vector as halfvec), embedding_model = :embedding_model
where organization_id = :organization_id and id = :memory_id;

-- name: insert_uses!
insert into memory_use (organization_id, id, memory_id, scope, target_user_id, user_id, thread_id, message_id, surface)
select :organization_id, id, memory_id, scope, case when scope = 'user_private' then cast(:user_id as uuid) end,
       :user_id, :thread_id, :message_id, :surface
from unnest(cast(:ids as uuid[]), cast(:memory_ids as uuid[]), cast(:scopes as memory_scope[]))
    as used (id, memory_id, scope);

-- name: count_uses!
-- In the order of their ids, so that of two who count the same memories one waits for the other, and never both.
insert into memory_use_total (organization_id, owner_id, memory_id, uses, last_used_at)
select :organization_id, owner_id, memory_id, 1, now()
from unnest(cast(:memory_ids as uuid[]), cast(:owner_ids as uuid[])) as used (memory_id, owner_id)
order by memory_id
on conflict (organization_id, owner_id, memory_id) do update
set uses = memory_use_total.uses + 1, last_used_at = greatest(memory_use_total.last_used_at, excluded.last_used_at);

-- name: insert_event!
insert into product_event (organization_id, id, user_id, name, subject_id, properties)
values (:organization_id, :id, :user_id, :name, :subject_id, :properties);

-- name: without_waiting_for_disk!
-- For what may be lost with the machine's power: this transaction does not wait for its flush.
set local synchronous_commit = off;
