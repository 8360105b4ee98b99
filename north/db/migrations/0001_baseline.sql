-- The first schema. Run as north_owner, which owns everything here.
--
-- Every table with organization_id has row-level security, enabled and forced. Its one permissive policy is
-- sufficient alone: it holds the firm's wall and, where rows are somebody's own, the owner's wall. No policy has a
-- subquery. Every primary key leads with organization_id and every foreign key is composite with it, since
-- foreign-key checks and unique errors bypass row-level security and would tell one firm about another.

create extension if not exists vector;

-- Context -----------------------------------------------------------------------------------------------------------
-- STABLE: an IMMUTABLE function would be folded into a cached plan and serve one firm's id to the next.

create function north_organization() returns uuid
    language sql stable parallel safe
    as $$ select nullif(current_setting('app.organization_id', true), '')::uuid $$;

create function north_user() returns uuid
    language sql stable parallel safe
    as $$ select nullif(current_setting('app.user_id', true), '')::uuid $$;

-- SET LOCAL by EXECUTE: set_config() is not forwarded by Citus, and a session-wide SET bleeds through a pooler.
create function north_bind(organization uuid, acting_user uuid) returns void
    language plpgsql
    as $$
    begin
        execute format('set local app.organization_id = %L', coalesce(organization::text, ''));
        execute format('set local app.user_id = %L', coalesce(acting_user::text, ''));
    end
    $$;

-- Kinds -------------------------------------------------------------------------------------------------------------

create type memory_scope as enum ('user_private', 'matter', 'firm_global');
create type memory_type as enum (
    'identity', 'preference', 'instruction', 'playbook_rule', 'fact', 'decision', 'deadline', 'party', 'reference');
-- The last two are historic: nothing writes them.
create type memory_status as enum ('active', 'superseded', 'archived', 'pending', 'rejected');
create type memory_confidence as enum ('high', 'medium', 'low');
create type memory_origin as enum ('chat', 'mcp', 'api', 'settings', 'miner', 'import');

-- Found before the firm is known ------------------------------------------------------------------------------------
-- Keyed hashes and ids alone, so it needs no row-level security: without the key, and without the secret whose hash
-- it holds, a row tells nothing. firm_id is not named organization_id because every table with that column is walled.

create table lookup_key (
    kind text not null check (kind in ('firm', 'login', 'session', 'token', 'oauth')),
    key_hash bytea not null,
    firm_id uuid not null,
    user_id uuid,
    subject_id uuid,
    expires_at timestamptz,
    primary key (kind, key_hash)
);
create index lookup_key_subject on lookup_key (firm_id, user_id, kind);

-- Firms, people, matters --------------------------------------------------------------------------------------------

create table organization (
    organization_id uuid primary key,
    slug text not null,
    name text not null,
    created_at timestamptz not null default now()
);

create table app_user (
    organization_id uuid not null references organization (organization_id),
    id uuid not null,
    email text not null,
    name text not null,
    role text not null default 'lawyer' check (role in ('lawyer', 'admin')),
    created_at timestamptz not null default now(),
    disabled_at timestamptz,
    primary key (organization_id, id),
    unique (organization_id, email)
);

-- A password is its owner's alone; colleagues see the rest of app_user.
create table user_password (
    organization_id uuid not null,
    user_id uuid not null,
    password_hash text not null,
    changed_at timestamptz not null default now(),
    primary key (organization_id, user_id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);

create table matter (
    organization_id uuid not null references organization (organization_id),
    id uuid not null,
    number text not null,
    name text not null,
    created_at timestamptz not null default now(),
    created_by uuid,
    primary key (organization_id, id),
    unique (organization_id, number),
    foreign key (organization_id, created_by) references app_user (organization_id, id)
);
create index matter_created_by on matter (organization_id, created_by);

-- Chat --------------------------------------------------------------------------------------------------------------

create table chat_thread (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    matter_id uuid,
    title text not null default '',
    incognito boolean not null default false,
    deferred_requests jsonb,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    mined_through uuid,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id),
    foreign key (organization_id, matter_id) references matter (organization_id, id)
);
create index chat_thread_owner on chat_thread (organization_id, user_id, updated_at desc);
create index chat_thread_matter on chat_thread (organization_id, matter_id);

create table chat_message (
    organization_id uuid not null,
    id uuid not null,
    thread_id uuid not null,
    user_id uuid not null,
    role text not null check (role in ('user', 'assistant')),
    content text not null,
    -- The turn in the model library's own messages, to be replayed to the model; on the assistant's row.
    model_messages jsonb,
    -- What the turn did with memory: {"saved": [ids], "recalled": [ids], "refused": [texts]}.
    effects jsonb,
    error_code text,
    created_at timestamptz not null default now(),
    primary key (organization_id, id),
    foreign key (organization_id, thread_id) references chat_thread (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index chat_message_thread on chat_message (organization_id, thread_id, id);
create index chat_message_owner on chat_message (organization_id, user_id);

-- Memory ------------------------------------------------------------------------------------------------------------

create table agent_memory_candidate (
    organization_id uuid not null references organization (organization_id),
    id uuid not null,
    scope memory_scope not null,
    type memory_type not null,
    target_user_id uuid,
    target_matter_id uuid,
    content text not null,
    content_key bytea not null,
    -- How many terms the text has: BM25's document length.
    length integer not null,
    status memory_status not null,
    confidence memory_confidence not null,
    origin memory_origin not null,
    source_thread_id uuid,
    source_message_id uuid,
    source_label text,
    captured_by uuid,
    evidence text,
    supersedes_id uuid,
    created_at timestamptz not null default now(),
    superseded_at timestamptz,
    archived_at timestamptz,
    archived_by uuid,
    embedding halfvec,
    embedding_model text,
    primary key (organization_id, id),
    constraint scope_shape_chk check (
        case scope
            when 'user_private' then target_user_id is not null and target_matter_id is null
            when 'matter' then target_user_id is null and target_matter_id is not null
            else target_user_id is null and target_matter_id is null
        end),
    foreign key (organization_id, target_user_id) references app_user (organization_id, id),
    foreign key (organization_id, target_matter_id) references matter (organization_id, id),
    foreign key (organization_id, captured_by) references app_user (organization_id, id),
    foreign key (organization_id, archived_by) references app_user (organization_id, id),
    foreign key (organization_id, supersedes_id) references agent_memory_candidate (organization_id, id)
);
alter table agent_memory_candidate alter column embedding set storage plain;

-- One live row per fact and bucket. The key leads: equality of an enum is not leakproof, so that under row-level
-- security only the firm and the key can be looked up in an index.
create unique index memory_live_key on agent_memory_candidate
    (organization_id, content_key, scope, target_user_id, target_matter_id) nulls not distinct
    where status = 'active';
-- One successor per row; historic rows that were never settled do not count.
create unique index memory_successor on agent_memory_candidate (organization_id, supersedes_id)
    where status in ('active', 'superseded');
create index memory_supersedes on agent_memory_candidate (organization_id, supersedes_id);
-- The two buckets that recall scans, and the listing, newest first.
create index memory_personal_bucket on agent_memory_candidate (organization_id, target_user_id, id desc)
    where status = 'active';
create index memory_matter_bucket on agent_memory_candidate (organization_id, target_matter_id, id desc)
    where status = 'active';
create index memory_newest on agent_memory_candidate (organization_id, created_at desc, id desc);
create index memory_target_user on agent_memory_candidate (organization_id, target_user_id);
create index memory_target_matter on agent_memory_candidate (organization_id, target_matter_id);
create index memory_captured_by on agent_memory_candidate (organization_id, captured_by);
create index memory_archived_by on agent_memory_candidate (organization_id, archived_by);
create index memory_source_thread on agent_memory_candidate (organization_id, source_thread_id);
create index memory_not_embedded on agent_memory_candidate (organization_id, id)
    where status = 'active' and embedding is null;

-- The postings of live rows. The key holds everything that BM25 and the policy read, so that scoring is an index-only
-- scan. bucket is the target lawyer, the target matter, or the firm itself.
create table memory_term (
    organization_id uuid not null,
    bucket uuid not null,
    term text not null,
    memory_id uuid not null,
    tf smallint not null,
    length integer not null,
    scope memory_scope not null,
    target_user_id uuid,
    primary key (organization_id, bucket, term, memory_id) include (tf, length, scope, target_user_id),
    foreign key (organization_id, memory_id) references agent_memory_candidate (organization_id, id)
);
create index memory_term_memory on memory_term (organization_id, memory_id);

-- Which memory was shown to whom, in which turn. It carries its memory's owner, so that it has its memory's wall.
create table memory_use (
    organization_id uuid not null,
    id uuid not null,
    memory_id uuid not null,
    scope memory_scope not null,
    target_user_id uuid,
    user_id uuid not null,
    thread_id uuid,
    message_id uuid,
    surface memory_origin not null,
    used_at timestamptz not null default now(),
    primary key (organization_id, id),
    foreign key (organization_id, memory_id) references agent_memory_candidate (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id),
    foreign key (organization_id, target_user_id) references app_user (organization_id, id)
);
create index memory_use_memory on memory_use (organization_id, memory_id, used_at desc);
create index memory_use_user on memory_use (organization_id, user_id);
create index memory_use_target_user on memory_use (organization_id, target_user_id);

create table memory_rule (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    -- Free text: historic rows hold other actions, which match nothing.
    action text not null,
    scope memory_scope,
    type memory_type,
    phrase text,
    origin text not null,
    reason text,
    created_at timestamptz not null default now(),
    deleted_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index memory_rule_owner on memory_rule (organization_id, user_id) where deleted_at is null;
create index memory_rule_user on memory_rule (organization_id, user_id);

-- The ledger: one row per bucket on which the sweep has acted.
create table memory_rule_suggestion (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    scope memory_scope not null,
    type memory_type not null,
    suggested_action text not null,
    keep_rate double precision,
    sample integer,
    rule_id uuid,
    created_at timestamptz not null default now(),
    primary key (organization_id, id),
    unique (organization_id, user_id, scope, type),
    foreign key (organization_id, user_id) references app_user (organization_id, id),
    foreign key (organization_id, rule_id) references memory_rule (organization_id, id)
);
create index memory_rule_suggestion_rule on memory_rule_suggestion (organization_id, rule_id);

create table walled_consultation (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    source text not null,
    client text,
    thread_id uuid,
    session_hash bytea,
    consulted_at timestamptz not null default now(),
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index walled_consultation_owner on walled_consultation (organization_id, user_id, consulted_at desc);

-- A request that was made once, so that its repetition gets the first answer.
create table idempotency_key (
    organization_id uuid not null,
    user_id uuid not null,
    key_hash bytea not null,
    request_hash bytea not null,
    outcome jsonb not null,
    created_at timestamptz not null default now(),
    primary key (organization_id, user_id, key_hash),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);

-- Append-only: no role but the owner can change or remove a row. No text of any memory stands here.
create table product_event (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    name text not null,
    subject_id uuid,
    properties jsonb not null default '{}',
    created_at timestamptz not null default now(),
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index product_event_owner on product_event (organization_id, user_id, name, subject_id);

-- Imports -----------------------------------------------------------------------------------------------------------

create table import_batch (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    file_name text not null,
    status text not null check (status in ('queued', 'running', 'finished', 'failed', 'cancelled')),
    progress double precision not null default 0,
    report jsonb not null default '{}',
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index import_batch_owner on import_batch (organization_id, user_id, created_at desc);

create table import_conversation (
    organization_id uuid not null,
    id uuid not null,
    batch_id uuid not null,
    user_id uuid not null,
    source text not null,
    external_key bytea not null,
    status text not null,
    reason text,
    message_count integer not null default 0,
    created_at timestamptz not null default now(),
    primary key (organization_id, id),
    unique (organization_id, user_id, source, external_key),
    foreign key (organization_id, batch_id) references import_batch (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index import_conversation_batch on import_conversation (organization_id, batch_id);

-- Sessions and tokens -----------------------------------------------------------------------------------------------

create table web_session (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    created_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index web_session_owner on web_session (organization_id, user_id);

create table access_token (
    organization_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    name text not null,
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index access_token_owner on access_token (organization_id, user_id);

-- Row-level security ------------------------------------------------------------------------------------------------

do $$
declare
    walled text;
begin
    -- The firm's rows: every member of the firm.
    foreach walled in array array['organization', 'app_user', 'matter'] loop
        execute format(
            'create policy firm on %I using (organization_id = north_organization())
             with check (organization_id = north_organization())', walled);
    end loop;
    -- A lawyer's own rows.
    foreach walled in array array[
        'user_password', 'chat_thread', 'chat_message', 'memory_rule', 'memory_rule_suggestion', 'walled_consultation',
        'idempotency_key', 'product_event', 'import_batch', 'import_conversation', 'web_session', 'access_token'] loop
        execute format(
            'create policy owner on %I using (organization_id = north_organization() and user_id = north_user())
             with check (organization_id = north_organization() and user_id = north_user())', walled);
    end loop;
    -- Memories and what hangs on them: the firm's, except that personal ones are their lawyer's alone.
    foreach walled in array array['agent_memory_candidate', 'memory_term', 'memory_use'] loop
        execute format(
            'create policy reach on %I
             using (organization_id = north_organization() and (scope <> ''user_private'' or target_user_id = north_user()))
             with check (organization_id = north_organization() and (scope <> ''user_private'' or target_user_id = north_user()))',
            walled);
        -- Restrictive, so that a policy that somebody adds later opens nothing.
        execute format(
            'create policy owner_wall on %I as restrictive
             using (scope <> ''user_private'' or target_user_id = north_user())
             with check (scope <> ''user_private'' or target_user_id = north_user())', walled);
    end loop;
    for walled in select c.table_name from information_schema.columns c join information_schema.tables t
            on t.table_schema = c.table_schema and t.table_name = c.table_name
            where c.table_schema = 'public' and c.column_name = 'organization_id' and t.table_type = 'BASE TABLE' loop
        execute format('alter table %I enable row level security', walled);
        execute format('alter table %I force row level security', walled);
    end loop;
end
$$;

-- Grants ------------------------------------------------------------------------------------------------------------
-- Nothing is hard-deleted but postings, lookup keys and spent idempotency keys.

revoke all on all tables in schema public from public;
grant usage on schema public to north_app, scheduler_role;
grant select, insert on organization, app_user, matter, memory_use, product_event, walled_consultation to north_app;
grant select, insert, update on user_password, chat_thread, chat_message, agent_memory_candidate, memory_rule,
    import_batch, import_conversation, web_session, access_token to north_app;
grant update (name, role, disabled_at) on app_user to north_app;
grant update (name) on matter to north_app;
grant select on memory_rule_suggestion to north_app;
grant select, insert, delete on memory_term, lookup_key, idempotency_key to north_app;
