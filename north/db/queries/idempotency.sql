-- name: find
select request_hash, outcome from idempotency_key
where organization_id = :organization_id and user_id = :user_id and key_hash = :key_hash;

-- name: record!
insert into idempotency_key (organization_id, user_id, key_hash, request_hash, outcome)
values (:organization_id, :user_id, :key_hash, :request_hash, :outcome);

-- name: forget_old!
delete from idempotency_key
where organization_id = :organization_id and user_id = :user_id and created_at < now() - interval '7 days';
