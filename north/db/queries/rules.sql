-- name: live
-- A lawyer's rules that apply, newest first. A stored action that is not `never_remember` matches nothing.
select id, action, scope, type, phrase, origin, reason, created_at
from memory_rule
where organization_id = :organization_id and user_id = :user_id and deleted_at is null
  and action = 'never_remember'
order by created_at desc, id desc;

-- name: listed
-- A lawyer's rules with how many captures each has refused.
select r.id, r.action, r.scope, r.type, r.phrase, r.origin, r.reason, r.created_at,
       (select count(*) from product_event e
        where e.organization_id = r.organization_id and e.user_id = r.user_id
          and e.name = 'memory_refused' and e.subject_id = r.id) as refused
from memory_rule r
where r.organization_id = :organization_id and r.user_id = :user_id and r.deleted_at is null
order by r.created_at desc, r.id desc;

-- name: insert_rule
insert into memory_rule (organization_id, id, user_id, action, scope, type, phrase, origin, reason)
values (:organization_id, :id, :user_id, :action, :scope, :type, :phrase, :origin, :reason)
returning id, action, scope, type, phrase, origin, reason, created_at;

-- name: delete_rule
update memory_rule set deleted_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :rule_id and deleted_at is null
returning id;

-- name: by_id
-- A rule of the lawyer's, also a deleted one.
select id, action, scope, type, phrase, origin, reason, created_at
from memory_rule
where organization_id = :organization_id and user_id = :user_id and id = :rule_id;
