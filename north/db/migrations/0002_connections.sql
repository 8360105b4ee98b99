-- A lawyer's connection to a document system: their authorization, sealed. Revoking erases it and keeps the row.

create table connection (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    provider text not null check (provider in ('netdocuments')),
    -- The tokens, encrypted for this row under a key that is derived from North's secret key.
    sealed_tokens bytea,
    -- Grows with every renewal of the tokens.
    version integer not null default 1,
    -- Until then, one process alone is renewing them.
    claimed_until timestamptz,
    account text not null,
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    revoked_at timestamptz,
    primary key (organization_id, id),
    constraint revoked_is_erased check ((revoked_at is null) = (sealed_tokens is not null)),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create unique index connection_live on connection (organization_id, user_id, provider) where revoked_at is null;
create index connection_owner on connection (organization_id, user_id);

create policy owner on connection
    using (organization_id = north_organization() and user_id = north_user())
    with check (organization_id = north_organization() and user_id = north_user());
alter table connection enable row level security;
alter table connection force row level security;

grant select, insert, update on connection to north_app;
