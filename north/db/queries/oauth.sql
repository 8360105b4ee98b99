-- name: insert_client!
insert into oauth_client (id, name, redirect_uris, has_secret) values (:id, :name, :redirect_uris, :has_secret);

-- name: client
select id, name, redirect_uris, has_secret from oauth_client where id = :id;

-- name: forget_unused_clients!
delete from oauth_client where authorized_at is null and created_at < :created_before;

-- name: note_authorization!
update oauth_client set authorized_at = now() where id = :client_id;

-- name: insert_grant!
insert into oauth_grant (organization_id, id, user_id, client_id, client_name, redirect_host, redirect_uri,
                         code_challenge, scope, resource, expires_at)
values (:organization_id, :id, :user_id, :client_id, :client_name, :redirect_host, :redirect_uri,
        :code_challenge, :scope, :resource, :expires_at);

-- name: grant
select g.id, g.organization_id, g.user_id, g.client_id, g.redirect_uri, g.code_challenge, g.resource, g.refresh_hash,
       g.expires_at, g.redeemed_at is not null as redeemed,
       g.revoked_at is null and g.expires_at > now() and u.disabled_at is null as live
from oauth_grant g
join app_user u on u.organization_id = :organization_id and u.id = g.user_id
where g.organization_id = :organization_id and g.user_id = :user_id and g.id = :id;

-- name: redeem
-- The code's single use; of two at once, the second finds it redeemed.
update oauth_grant set redeemed_at = now(), refresh_hash = :refresh_hash, expires_at = :expires_at
where organization_id = :organization_id and user_id = :user_id and id = :id
  and redeemed_at is null and revoked_at is null and expires_at > now()
returning id;

-- name: rotate
-- The refresh token's single use; of two at once, the second finds another in its place.
update oauth_grant set refresh_hash = :refresh_hash, expires_at = :expires_at
where organization_id = :organization_id and user_id = :user_id and id = :id
  and refresh_hash = :used_hash and revoked_at is null and expires_at > now()
returning id;

-- name: revoke
update oauth_grant set revoked_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :id and revoked_at is null
returning id;

-- name: admitted
select g.client_id
from oauth_grant g
join app_user u on u.organization_id = :organization_id and u.id = g.user_id and u.disabled_at is null
where g.organization_id = :organization_id and g.user_id = :user_id and g.id = :id and g.revoked_at is null;

-- name: note_use!
update oauth_grant set last_used_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :id;

-- name: programs
select id, client_name as name, redirect_host as host, created_at, last_used_at from oauth_grant
where organization_id = :organization_id and user_id = :user_id
  and redeemed_at is not null and revoked_at is null and expires_at > now()
order by created_at desc, id desc;

-- name: forget_expired_keys!
-- Of the lawyer's grants: keys whose time is over, and all keys of grants that are over.
delete from lookup_key k
where k.kind = 'oauth' and k.firm_id = :organization_id and k.user_id = :user_id
  and (k.expires_at < now()
       or exists (select from oauth_grant g
                  where g.organization_id = :organization_id and g.user_id = :user_id and g.id = k.subject_id
                    and g.expires_at < now()));
