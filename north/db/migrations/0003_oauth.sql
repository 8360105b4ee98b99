-- OAuth: programs that register themselves, and the grants by which lawyers let programs act for them.

-- Asked for before the firm is known, and of no firm: what a program says of itself. It has no column named
-- organization_id, and nothing in it says who uses the program. Programs that publish a metadata document need no row.
create table oauth_client (
    id text primary key,
    name text not null,
    redirect_uris text[] not null,
    has_secret boolean not null,
    created_at timestamptz not null default now(),
    -- A program that nobody has connected for a while is forgotten.
    authorized_at timestamptz
);
create index oauth_client_unused on oauth_client (created_at) where authorized_at is null;

-- One row for each time that a lawyer pressed Allow. Its secrets (the code, access and refresh tokens) stand in
-- lookup_key as keyed hashes with the grant as their subject: without the keys the grant is dead.
create table oauth_grant (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    client_id text not null,
    client_name text not null,
    redirect_host text not null,
    redirect_uri text not null,
    code_challenge text not null,
    scope text not null,
    resource text not null,
    -- The hash of the one refresh token that may still be used.
    refresh_hash bytea,
    created_at timestamptz not null default now(),
    redeemed_at timestamptz,
    last_used_at timestamptz,
    -- Of the code until it is redeemed, then of the newest refresh token.
    expires_at timestamptz not null,
    revoked_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index oauth_grant_owner on oauth_grant (organization_id, user_id);

create policy owner on oauth_grant
    using (organization_id = north_organization() and user_id = north_user())
    with check (organization_id = north_organization() and user_id = north_user());
alter table oauth_grant enable row level security;
alter table oauth_grant force row level security;

revoke all on oauth_client, oauth_grant from public;
grant select, insert, delete on oauth_client to north_app;
grant update (authorized_at) on oauth_client to north_app;
grant select, insert, update on oauth_grant to north_app;
