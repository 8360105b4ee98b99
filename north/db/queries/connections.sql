-- name: live
select id, sealed_tokens, version, account, created_at, last_used_at from connection
where organization_id = :organization_id and user_id = :user_id and provider = :provider and revoked_at is null;

-- name: touch!
update connection set last_used_at = now()
where organization_id = :organization_id and user_id = :user_id and provider = :provider and revoked_at is null
  and (last_used_at is null or last_used_at < now() - interval '1 minute');

-- name: insert!
insert into connection (organization_id, id, user_id, provider, sealed_tokens, account)
values (:organization_id, :id, :user_id, :provider, :sealed_tokens, :account);

-- name: revoke!
update connection set revoked_at = now(), sealed_tokens = null, claimed_until = null
where organization_id = :organization_id and user_id = :user_id and provider = :provider and revoked_at is null;

-- name: claim
-- Of those who want to renew this version of the tokens, the first; the others wait for what it stores. A claim ends by
-- itself when its holder died.
update connection set claimed_until = now() + cast(:claim as interval)
where organization_id = :organization_id and user_id = :user_id and id = :id and version = :version
  and revoked_at is null and (claimed_until is null or claimed_until < now())
returning id;

-- name: renew
update connection set sealed_tokens = :sealed_tokens, version = version + 1, claimed_until = null
where organization_id = :organization_id and user_id = :user_id and id = :id and version = :version
  and revoked_at is null
returning id;

-- name: release!
update connection set claimed_until = null
where organization_id = :organization_id and user_id = :user_id and id = :id and version = :version;

-- name: end!
-- The authorization has ended at the other side, and this version of the tokens with it.
update connection set revoked_at = now(), sealed_tokens = null, claimed_until = null
where organization_id = :organization_id and user_id = :user_id and id = :id and version = :version
  and revoked_at is null;
