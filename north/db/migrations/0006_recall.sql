-- What a recall scans stands together, in the order of the buckets, wherever its rows were written: its cost grows with
-- the bucket, and with nothing else of the firm.

-- Whose a row is: the lawyer's whose alone it is, else the firm's. A wall on this column is a condition of the index,
-- looked up once a scan, where the same wall as an OR of scope and target would be worked out anew for each row (0.6 µs).
-- The column is generated: nobody can write another owner than scope and target say.
alter table agent_memory_candidate
    add column owner_id uuid not null
        generated always as (case when scope = 'user_private' then target_user_id else organization_id end) stored,
    -- The target lawyer, the target matter, or the firm itself, as in memory_term.
    add column bucket uuid not null
        generated always as (coalesce(target_user_id, target_matter_id, organization_id)) stored,
    -- What was captured together: the thread, or a hash of the source's label; without either, what one lawyer saved in one
    -- sitting. The first seven digits of a UUIDv7 count spans of 2^20 ms, or 17 minutes.
    add column source uuid not null
        generated always as (coalesce(
            source_thread_id,
            cast(md5(source_label) as uuid),
            cast(md5(cast(captured_by as text) || left(cast(id as text), 7)) as uuid),
            id)) stored,
    -- The signs of the embedding's numbers: what a large bucket is searched by first.
    add column sketch bit varying generated always as (binary_quantize(embedding)) stored,
    -- Whether the embedding is too long for an entry of an index, which has 2,704 bytes.
    add column wide boolean not null generated always as (coalesce(vector_dims(embedding), 0) > 1024) stored;

create index memory_bucket on agent_memory_candidate (organization_id, owner_id, bucket, source, id)
    include (length, embedding_model, embedding) where status = 'active' and not wide;
create index memory_wide_bucket on agent_memory_candidate (organization_id, owner_id, bucket)
    where status = 'active' and wide;
create index memory_sketch on agent_memory_candidate (organization_id, owner_id, bucket)
    include (id, length, type, created_at, sketch) where status = 'active';
drop index memory_personal_bucket, memory_matter_bucket;
-- A page of one bucket, newest first, in a firm of whatever size.
create index memory_listed on agent_memory_candidate (organization_id, bucket, created_at desc, id desc);

alter table memory_term
    add column owner_id uuid not null
        generated always as (case when scope = 'user_private' then target_user_id else organization_id end) stored;
-- The door writes a memory and its postings in one transaction, and memories are never deleted: to look up the memory
-- for each of forty postings anew was half of what writing them took.
alter table memory_term drop constraint memory_term_organization_id_memory_id_fkey;
alter table memory_term drop constraint memory_term_pkey;
alter table memory_term add primary key (organization_id, owner_id, bucket, term, memory_id) include (tf, length);

-- How often a memory was shown is counted from an index alone.
drop index memory_use_memory;
create index memory_use_memory on memory_use (organization_id, memory_id, used_at desc) include (scope, target_user_id);

-- An index is read alone where a vacuum has seen the rows' pages; by default it comes when a fifth of the table is new.
alter table agent_memory_candidate
    set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
alter table memory_term set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
alter table memory_use set (autovacuum_vacuum_insert_scale_factor = 0.02);

do $$
declare
    walled text;
begin
    foreach walled in array array['agent_memory_candidate', 'memory_term'] loop
        execute format(
            'alter policy reach on %I
             using (organization_id = north_organization() and owner_id in (north_organization(), north_user()))
             with check (organization_id = north_organization() and owner_id in (north_organization(), north_user()))',
            walled);
        execute format(
            'alter policy owner_wall on %I
             using (owner_id in (north_organization(), north_user()))
             with check (owner_id in (north_organization(), north_user()))', walled);
    end loop;
end
$$;
