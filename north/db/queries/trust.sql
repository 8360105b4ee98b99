-- The trust profile, as scheduler_role: which of a lawyer's captures are still there.

-- name: firms
-- Every firm; not bound to one.
select firm_id from lookup_key where kind = 'firm' order by firm_id;

-- name: lawyers
select id from app_user where organization_id = :organization_id order by id;

-- name: kept
-- For each scope and type without a ledger row: how many captures count, and how many of them are still active. A
-- capture is a memory's first version; its latest version says what has become of it. What this lawyer's sessions
-- captured counts while it is active, what this lawyer archived counts as not kept, and what somebody else archived
-- does not count. Nor does what was written by hand, whoever changed it later, and what went with an import that its
-- lawyer undid: that says nothing about such memories.
with recursive captured as (
    select id, scope, type, status from agent_memory_candidate
    where organization_id = :organization_id and captured_by = :user_id and supersedes_id is null
      and origin <> 'settings' and status in ('active', 'superseded')
    union all
    select m.id, m.scope, m.type, m.status from captured
    join agent_memory_candidate m on m.organization_id = :organization_id and m.supersedes_id = captured.id
    where captured.status = 'superseded' and m.status in ('active', 'superseded')
), archived as (
    select m.scope, m.type, m.origin, m.supersedes_id from agent_memory_candidate m
    where m.organization_id = :organization_id and m.archived_by = :user_id and m.status = 'archived'
      and (m.id, coalesce(m.archived_at, '-infinity')) not in (
          select brought.memory_id, b.undone_at from import_batch b
          join import_memory brought on brought.organization_id = b.organization_id and brought.batch_id = b.id
          where b.organization_id = :organization_id and b.user_id = :user_id and b.undone_at is not null)
    union all
    select archived.scope, archived.type, m.origin, m.supersedes_id from archived
    join agent_memory_candidate m on m.organization_id = :organization_id and m.id = archived.supersedes_id
), outcome as (
    select scope, type, true as kept from captured where status = 'active'
    union all
    select scope, type, false from archived where supersedes_id is null and origin <> 'settings'
)
select o.scope, o.type, count(*) filter (where o.kept) as kept, count(*) as sample
from outcome o
where not exists (
    select from memory_rule_suggestion s
    where s.organization_id = :organization_id and s.user_id = :user_id and s.scope = o.scope and s.type = o.type)
group by o.scope, o.type
order by o.scope, o.type;

-- name: lock_bucket
-- Until the transaction ends, so that of sweeps at once the second sees the first one's ledger row.
select pg_advisory_xact_lock(hashtextextended(
    concat_ws(' ', :organization_id, :user_id, cast(:scope as text), cast(:type as text)), 0));

-- name: insert_rule!
insert into memory_rule (organization_id, id, user_id, action, scope, type, origin, reason)
values (:organization_id, :id, :user_id, :action, :scope, :type, 'sweep', :reason);

-- name: insert_ledger_row!
insert into memory_rule_suggestion (
    organization_id, id, user_id, scope, type, suggested_action, keep_rate, sample, rule_id)
values (:organization_id, :id, :user_id, :scope, :type, :action, :keep_rate, :sample, :rule_id);
