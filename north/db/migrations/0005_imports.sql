-- Imports: the file, in pieces, until it is read; what of a conversation was read, by which import; and which memories
-- each import brought, so that it can be undone.

-- Up to 2 GiB in pieces of a megabyte. They come before the import, which begins once the file is whole, so that they
-- refer to no row of it; they are deleted when it ends.
create table import_chunk (
    organization_id uuid not null,
    import_id uuid not null,
    number integer not null,
    user_id uuid not null,
    piece bytea not null,
    received_at timestamptz not null default now(),
    primary key (organization_id, import_id, number),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
-- What is uploaded is compressed already, or is soon gone.
alter table import_chunk alter column piece set storage external;
create index import_chunk_owner on import_chunk (organization_id, user_id);

-- `done` counts the file's conversations and explicit memories that are dealt with. A run goes on from there, and can
-- only count on from the value that it has read, so that of two runs one has an effect.
alter table import_batch
    add column done integer not null default 0,
    add column touched_at timestamptz not null default now(),
    add column undone_at timestamptz,
    add column error_code text,
    add column error text;

-- Nothing has been imported before this revision, so that the table is made anew. Each import adds a part to what was
-- read of a conversation, so that undoing one import forgets its part alone. Of two imports that read the same at once,
-- the second finds its part taken and looks again.
drop table import_conversation;
create table import_conversation (
    organization_id uuid not null,
    id uuid not null,
    batch_id uuid not null,
    user_id uuid not null,
    source text not null,
    -- A hash of the provider's id for it.
    external_key bytea not null,
    part integer not null,
    -- The turns that were read: eight bytes of a hash for each.
    turns bytea not null,
    created_at timestamptz not null default now(),
    primary key (organization_id, id),
    unique (organization_id, user_id, source, external_key, part),
    foreign key (organization_id, batch_id) references import_batch (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index import_conversation_batch on import_conversation (organization_id, batch_id);

create table import_memory (
    organization_id uuid not null,
    batch_id uuid not null,
    memory_id uuid not null,
    user_id uuid not null,
    primary key (organization_id, batch_id, memory_id),
    foreign key (organization_id, batch_id) references import_batch (organization_id, id),
    foreign key (organization_id, memory_id) references agent_memory_candidate (organization_id, id),
    foreign key (organization_id, user_id) references app_user (organization_id, id)
);
create index import_memory_memory on import_memory (organization_id, memory_id);
create index import_memory_owner on import_memory (organization_id, user_id);

do $$
declare
    walled text;
begin
    foreach walled in array array['import_chunk', 'import_conversation', 'import_memory'] loop
        execute format(
            'create policy owner on %I using (organization_id = north_organization() and user_id = north_user())
             with check (organization_id = north_organization() and user_id = north_user())', walled);
        execute format('alter table %I enable row level security', walled);
        execute format('alter table %I force row level security', walled);
    end loop;
end
$$;

grant select, insert, delete on import_chunk to north_app;
grant select, insert on import_conversation, import_memory to north_app;

-- The sweep leaves out what was archived by undoing an import; still no text.
grant select (organization_id, user_id, id, undone_at) on import_batch to scheduler_role;
grant select (organization_id, user_id, batch_id, memory_id) on import_memory to scheduler_role;
grant select (archived_at) on agent_memory_candidate to scheduler_role;
