-- The sweep's rights, in this one place. It binds a firm and a lawyer as every surface does, so that the walls that
-- stand are its walls too and no policy is written for it. It reads what keep-rates need, never a text.

grant select (kind, firm_id) on lookup_key to scheduler_role;
grant select (organization_id, id) on app_user to scheduler_role;
grant select (organization_id, id, scope, type, target_user_id, status, origin, captured_by, archived_by, supersedes_id)
    on agent_memory_candidate to scheduler_role;
grant select (organization_id, user_id, scope, type) on memory_rule_suggestion to scheduler_role;
grant insert on memory_rule, memory_rule_suggestion to scheduler_role;
