-- name: find
-- One matter by its number or its id.
select id, number, name, created_at from matter
where organization_id = :organization_id and (number = :matter or id = cast(:matter_id as uuid));

-- name: listed
-- The firm's matters, newest first; with patterns, those whose number or name has every word.
select id, number, name, created_at from matter
where organization_id = :organization_id
  and (cast(:patterns as text[]) is null or (number || ' ' || name) ilike all(:patterns))
order by created_at desc, id desc
limit :limit;

-- name: insert_matter
insert into matter (organization_id, id, number, name, created_by)
values (:organization_id, :id, :number, :name, :user_id)
returning id, number, name, created_at;
