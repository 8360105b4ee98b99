-- How often a memory was shown, and when last: a row for each memory that was, beside the log of each use. What a recall
-- reads of it is the same however often a memory is used.

-- The owner is a lawyer or, for what lawyers share, the firm, as in agent_memory_candidate. It is part of the key and of
-- every question: a row with another owner than its memory's is never read, and is in nobody's way. No foreign key: a total
-- is written with its uses, which have one.
create table memory_use_total (
    organization_id uuid not null,
    owner_id uuid not null,
    memory_id uuid not null,
    uses bigint not null,
    last_used_at timestamptz not null,
    primary key (organization_id, owner_id, memory_id)
);

-- The wall holds for the owner of the table too, which has to see every firm's uses once.
alter table memory_use no force row level security;
insert into memory_use_total (organization_id, owner_id, memory_id, uses, last_used_at)
select organization_id, case when scope = 'user_private' then target_user_id else organization_id end, memory_id,
       count(*), max(used_at)
from memory_use
group by 1, 2, 3;
alter table memory_use force row level security;

-- Nothing is counted from the log any more. For its foreign key a narrow index is enough, whose equal entries are kept once.
drop index memory_use_memory;
create index memory_use_memory on memory_use (organization_id, memory_id);
alter table memory_use reset (autovacuum_vacuum_insert_scale_factor);

create policy reach on memory_use_total
    using (organization_id = north_organization() and owner_id in (north_organization(), north_user()))
    with check (organization_id = north_organization() and owner_id in (north_organization(), north_user()));
create policy owner_wall on memory_use_total as restrictive
    using (owner_id in (north_organization(), north_user()))
    with check (owner_id in (north_organization(), north_user()));
alter table memory_use_total enable row level security;
alter table memory_use_total force row level security;

revoke all on memory_use_total from public;
grant select, insert on memory_use_total to north_app;
grant update (uses, last_used_at) on memory_use_total to north_app;
