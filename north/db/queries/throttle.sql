-- name: count
-- Counts an attempt, unless the key has as many as it may; then there is no row.
insert into login_attempt as a (key_hash, spent_until) values (:key_hash, now() + :each)
on conflict (key_hash) do update set spent_until = greatest(a.spent_until, now()) + :each
where greatest(a.spent_until, now()) + :each <= now() + :whole
returning key_hash;

-- name: wait
-- How many seconds until the next attempt is counted.
select ceil(extract(epoch from spent_until + :each - :whole - now()))::integer as seconds
from login_attempt where key_hash = :key_hash;

-- name: take_back
update login_attempt set spent_until = spent_until - :each where key_hash = :key_hash returning key_hash;

-- name: forget
delete from login_attempt where key_hash = :key_hash returning key_hash;

-- name: forget_spent
-- Forgets what counts no more, a little at a time.
delete from login_attempt where key_hash in (
    select key_hash from login_attempt where spent_until < now() order by spent_until limit 20 for update skip locked
) returning key_hash;
