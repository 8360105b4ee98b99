-- For scripts/2026_08_settle_memories.py alone: what an earlier release left behind, and how it is settled. Run as
-- north_owner, bound to a firm (its shared rows) or to a firm and a lawyer (that lawyer's rows).

-- name: firms
-- Every firm that can be found without being bound to one.
select firm_id from lookup_key where kind = 'firm'
union
select organization_id from organization
order by 1;

-- name: lawyers
select id from app_user where organization_id = :organization_id order by id;

-- name: counts
select status, count(*) as count from agent_memory_candidate
where organization_id = :organization_id and target_user_id is not distinct from :user_id
group by status;

-- name: unsettled
select id from agent_memory_candidate
where organization_id = :organization_id and target_user_id is not distinct from :user_id and status = 'pending'
order by created_at, id
limit :limit;

-- name: families
-- Every version that is related to one of these, whether it came before or after.
with recursive older as (
    select id, supersedes_id from agent_memory_candidate
    where organization_id = :organization_id and id = any(:ids)
    union
    select m.id, m.supersedes_id from agent_memory_candidate m
    join older on m.id = older.supersedes_id
    where m.organization_id = :organization_id
), related as (
    select id from older
    union
    select m.id from agent_memory_candidate m
    join related on m.supersedes_id = related.id
    where m.organization_id = :organization_id
)
select m.id, m.supersedes_id, m.status, m.scope, m.target_user_id, m.target_matter_id, m.content, m.created_at
from agent_memory_candidate m join related on related.id = m.id
where m.organization_id = :organization_id
order by m.created_at, m.id;

-- name: lock
-- Until the transaction ends, nobody edits or deletes these.
select id from agent_memory_candidate
where organization_id = :organization_id and id = any(:ids)
order by id
for no key update;

-- name: live_texts
-- Live rows that say one of these, in whichever bucket.
select id, content, scope, target_user_id, target_matter_id from agent_memory_candidate
where organization_id = :organization_id and target_user_id is not distinct from :user_id and status = 'active'
  and (content_key = any(:content_keys) or content = any(:contents));

-- name: supersede!
update agent_memory_candidate set status = 'superseded', superseded_at = now()
where organization_id = :organization_id and id = :memory_id and status in ('active', 'pending');

-- name: archive!
update agent_memory_candidate set status = 'archived', archived_at = now()
where organization_id = :organization_id and id = :memory_id and status = 'pending';

-- name: activate!
update agent_memory_candidate set status = 'active', content_key = :content_key, length = :length
where organization_id = :organization_id and id = :memory_id and status = 'pending';

-- name: old_rules
select count(*) as count from memory_rule
where organization_id = :organization_id and user_id = :user_id and action = 'always_review';

-- name: old_suggestions
select count(*) as count from memory_rule_suggestion
where organization_id = :organization_id and user_id = :user_id
  and suggested_action in ('always_remember', 'always_review');

-- name: delete_old_suggestions!
delete from memory_rule_suggestion
where organization_id = :organization_id and user_id = :user_id
  and suggested_action in ('always_remember', 'always_review');

-- name: unlink_old_rules!
-- A ledger row outlives the rule that it names.
update memory_rule_suggestion set rule_id = null
where organization_id = :organization_id and user_id = :user_id and rule_id in (
    select id from memory_rule
    where organization_id = :organization_id and user_id = :user_id and action = 'always_review');

-- name: delete_old_rules!
delete from memory_rule
where organization_id = :organization_id and user_id = :user_id and action = 'always_review';
