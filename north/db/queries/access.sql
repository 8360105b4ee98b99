-- name: find_key
-- What a keyed hash leads to; not bound to a firm.
select firm_id, user_id, subject_id from lookup_key
where kind = :kind and key_hash = :key_hash and (expires_at is null or expires_at > now());

-- name: bind_by_key
-- What a keyed hash leads to; and binds the transaction to it.
select firm_id, user_id, subject_id, north_bind(firm_id, user_id) from lookup_key
where kind = :kind and key_hash = :key_hash and (expires_at is null or expires_at > now());

-- name: bound_user
-- Whom the transaction is bound to, while they may come in.
select id, organization_id, email, name, role from app_user
where organization_id = north_organization() and id = north_user() and disabled_at is null;

-- name: insert_key!
insert into lookup_key (kind, key_hash, firm_id, user_id, subject_id, expires_at)
values (:kind, :key_hash, :organization_id, :owner_id, :subject_id, :expires_at);

-- name: delete_keys!
-- Revokes: what the hash led to is closed from the next request on.
delete from lookup_key
where kind = :kind and firm_id = :organization_id and user_id = :user_id and subject_id = :subject_id;

-- name: lawyers
-- Every lawyer of every firm, as ids; not bound to a firm. For jobs that visit them one by one.
select firm_id, user_id from lookup_key where kind = 'login' order by firm_id, user_id;

-- name: insert_organization!
insert into organization (organization_id, slug, name) values (:organization_id, :slug, :name);

-- name: insert_user
insert into app_user (organization_id, id, email, name, role)
values (:organization_id, :user_id, :email, :name, :role)
returning id, organization_id, email, name, role;

-- name: insert_password!
insert into user_password (organization_id, user_id, password_hash)
values (:organization_id, :user_id, :password_hash);

-- name: user
select u.id, u.organization_id, u.email, u.name, u.role
from app_user u
where u.organization_id = :organization_id and u.id = :user_id and u.disabled_at is null;

-- name: password
select password_hash from user_password where organization_id = :organization_id and user_id = :user_id;

-- name: insert_session!
insert into web_session (organization_id, id, user_id, expires_at)
values (:organization_id, :id, :user_id, :expires_at);

-- name: revoke_session!
update web_session set revoked_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :id and revoked_at is null;

-- name: insert_token
insert into access_token (organization_id, id, user_id, name, expires_at)
values (:organization_id, :id, :user_id, :name, :expires_at)
returning id, name, created_at, last_used_at, expires_at;

-- name: tokens
select id, name, created_at, last_used_at, expires_at from access_token
where organization_id = :organization_id and user_id = :user_id and revoked_at is null
order by created_at desc, id desc;

-- name: revoke_token
update access_token set revoked_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :id and revoked_at is null
returning id;

-- name: touch_token!
update access_token set last_used_at = now()
where organization_id = :organization_id and user_id = :user_id and id = :id;
