-- name: listed
-- The live memories of both buckets: the lawyer's own, and that of a matter by its number or id. Columns are strings of
-- bytes, since ten thousand values each take longer to send and to read. Those that have no vector are `bare`. A bucket
-- that is `large` is not listed.
with place as (
    select cast(:user_id as uuid) as owner_id, cast(:user_id as uuid) as bucket, cast(:own_large as boolean) as large
    union all
    select organization_id, id, :matter_large from matter
    where organization_id = :organization_id and (number = :matter or id = :matter_id)
)
select place.bucket, listed.*
from place cross join lateral (
    select count(*)::float8 as documents, greatest(avg(length), 1)::float8 as mean, string_agg(uuid_send(id), '') as ids,
           string_agg(uuid_send(id), '') filter (where sketch is null) as bare
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = place.owner_id and bucket = place.bucket
      and status = 'active' and length >= 0
) listed
where not large;

-- name: postings
-- Where a question's terms stand in both buckets, a row for each bucket and term: how many memories have it, which, and for
-- each how often it has the term and how many terms it has in all. Of the commonest in a large bucket, after
-- :most_postings, it is not said which.
with place as (
    select cast(:user_id as uuid) as owner_id, cast(:user_id as uuid) as bucket, cast(:own_large as boolean) as large
    union all
    select organization_id, id, :matter_large from matter
    where organization_id = :organization_id and (number = :matter or id = :matter_id)
)
select place.bucket, term, df, ids, counts
from place cross join lateral (
    select term, count(*) as df,
           not large or coalesce(sum(count(*)) over (order by count(*), term) - count(*) < :most_postings, true) as rare
    from memory_term
    where organization_id = :organization_id and owner_id = place.owner_id and bucket = place.bucket
      and term = any(:terms)
    group by term
) asked left join lateral (
    select string_agg(uuid_send(memory_id), '') as ids, string_agg(int4send(tf) || int4send(length), '') as counts
    from memory_term
    where organization_id = :organization_id and owner_id = place.owner_id and bucket = place.bucket
      and term = asked.term and asked.rare
) posting on true;

-- name: dated
-- For each term of a question that names a time, the live memories of both buckets that were captured then, as in `postings`.
with place as (
    select cast(:user_id as uuid) as owner_id, cast(:user_id as uuid) as bucket
    union all
    select organization_id, id from matter
    where organization_id = :organization_id and (number = :matter or id = :matter_id)
)
select place.bucket, captured.*
from place cross join lateral (
    select term, string_agg(uuid_send(id), '') as ids, string_agg(int4send(1) || int4send(length), '') as counts
    from agent_memory_candidate
    join unnest(cast(:dated as text[]), cast(cast(:times as text[]) as tstzmultirange[])) as asked (term, times)
        on created_at <@ times
    where organization_id = :organization_id and owner_id = place.owner_id and bucket = place.bucket
      and status = 'active' and length >= 0
    group by term
) captured;

-- name: whole
-- The live memories of two small buckets as they are shown, each with what recency and type add to its score (`lift`). A
-- long one comes without its text. Their uses are asked for beside them: to look each up in turn takes longer than all
-- else. So it would be with whoever captured them, but for the caller's own, and in a large firm a join can take longer
-- still.
with place as (
    select cast(:user_id as uuid) as owner_id, cast(:user_id as uuid) as bucket
    union all
    select organization_id, id from matter
    where organization_id = :organization_id and (number = :matter or id = :matter_id)
)
select m.id,
       (:recency * power(0.5, least(greatest(date_part('epoch', now() - m.created_at) / 86400 / :half_life, 0), 100))
           + case when type = any(cast(:standing as memory_type[])) then :type else 0 end)::float8 as lift,
       case when short then content end as content, type::text, scope::text, confidence::text, origin::text,
       m.created_at, case when short then evidence end as evidence,
       supersedes_id, source_thread_id, source_message_id, source_label, captured_by as captured_by_id,
       case when captured_by = :user_id then (select name from app_user
                                              where organization_id = :organization_id and id = :user_id)
            else (select name from app_user u where u.organization_id = :organization_id and u.id = captured_by)
       end as captured_by_name
from place cross join lateral (
    select *, octet_length(content) + coalesce(octet_length(evidence), 0) <= :short as short
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = place.owner_id and bucket = place.bucket
      and status = 'active' and length >= 0
    limit :most
) m;

-- name: uses_of_whole
-- How often their memories were used, of those that were.
with place as (
    select cast(:user_id as uuid) as owner_id, cast(:user_id as uuid) as bucket
    union all
    select organization_id, id from matter
    where organization_id = :organization_id and (number = :matter or id = :matter_id)
)
select used.*
from place cross join lateral (
    select memory_id, uses, last_used_at from memory_use_total
    where organization_id = :organization_id and owner_id = place.owner_id and memory_id = any(array(
        select id from agent_memory_candidate
        where organization_id = :organization_id and owner_id = place.owner_id and bucket = place.bucket
          and status = 'active' and length >= 0
        limit :most))
    limit :most
) used;

-- name: vectors
-- The vectors of a bucket's live memories, and of which source each is. Whose vector is of another model, or has another
-- length, has none. A wide vector is read from its row, since no index can hold it.
with live as (
    select id, source, embedding_model, embedding from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
      and status = 'active' and not wide
    union all
    select id, source, embedding_model, embedding from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
      and status = 'active' and wide
)
select string_agg(uuid_send(id), '') as ids, string_agg(uuid_send(source), '') as sources,
       string_agg(boolsend(has), '') as have, string_agg(halfvec_send(embedding), '') filter (where has) as vectors
from (
    select *, coalesce(embedding_model = :model and vector_dims(embedding) = :dimensions, false) as has from live
    offset 0
) as live;

-- name: vectors_of
-- The same of some memories.
select string_agg(uuid_send(id), '') as ids, string_agg(uuid_send(source), '') as sources,
       string_agg(boolsend(has), '') as have, string_agg(halfvec_send(embedding), '') filter (where has) as vectors
from (
    select id, source, embedding,
           coalesce(embedding_model = :model and vector_dims(embedding) = :dimensions, false) as has
    from agent_memory_candidate
    where organization_id = :organization_id and id = any(cast(:ids as uuid[])) and status = 'active'
    offset 0
) as live;

-- name: compared
-- The live memories of a bucket whose vectors are not kept, compared here, in the order of source and id. NaN is the cosine
-- of a memory without a vector of this model. A wide vector is read from its row, since no index can hold it.
with live as (
    (select id, source, embedding_model, embedding from agent_memory_candidate
     where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
       and status = 'active' and not wide
     order by source, id)
    union all
    (select id, source, embedding_model, embedding from agent_memory_candidate
     where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
       and status = 'active' and wide
     order by source, id)
)
select string_agg(uuid_send(id), '') as ids, string_agg(uuid_send(source), '') as sources,
       string_agg(float8send(cosine), '') as cosines
from (
    select id, source, coalesce(case when embedding_model = :model then - (embedding <#> :vector) end, 'NaN') as cosine
    from live
    order by source, id
) as ordered;

-- name: best
-- Of the memories that are likely the best by their relation to a question, the best with recency and type.
with likely as (
    select * from unnest(cast(:ids as uuid[]), cast(:scores as float8[]), cast(:cosines as float8[]))
        as likely (id, score, cosine)
), best as (
    select m.*, cosine, score
           -- Within bounds, since a time that is far off must not end in an overflow.
           + :recency * power(0.5, least(greatest(date_part('epoch', now() - created_at) / 86400 / :half_life, 0), 100))
           + case when type = any(cast(:standing as memory_type[])) then :type else 0 end as score
    from likely join agent_memory_candidate m using (id)
    where organization_id = :organization_id and status = 'active'
    order by score desc, id desc limit :limit
)
select score, cosine, best.id, content, type, scope, confidence, origin, best.created_at, evidence,
       supersedes_id, source_thread_id, source_message_id, source_label, captured_by as captured_by_id,
       name as captured_by_name, coalesce(uses, 0) as uses, last_used_at
from best
left join app_user u on u.organization_id = :organization_id and u.id = captured_by
left join lateral (
    select uses, last_used_at from memory_use_total
    where organization_id = :organization_id and owner_id = :owner_id and memory_id = best.id
    offset 0
) used on true
order by score desc, best.id desc;

-- name: sketched
-- Of a bucket that is too large to compare with the question row by row, the memories of whose vectors' signs the fewest
-- differ from the question's (`distance`), and some of those of whom the most do. How far that is, a sample says: with
-- all sent, or put in order here, this would take twice as long. Beyond `near` are the others.
with drawn as (
    select binary_quantize(cast(:vector as halfvec)) as bits
), live as not materialized (
    select id, length, case when bit_length(sketch) = (select bit_length(bits) from drawn)
                            then sketch <~> (select bits from drawn) end as distance
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
      and status = 'active' and length >= 0
), sample as (
    select avg(length) as mean, percentile_disc(array[:nearest, 1 - :farthest]) within group (order by distance) as ends
    from (select * from live limit 4000) as first
), ends as (
    select ends[1] as near, (ends[1] + ends[2]) / 2 as middle, (ends[2] - ends[1]) / 2 as reach from sample
)
select count(*)::float8 as documents, (select greatest(mean, 1) from sample)::float8 as mean,
       (select near from ends) as near,
       string_agg(uuid_send(id) || int4send(distance::int4), '')
           filter (where abs(distance - (select middle from ends)) >= (select reach from ends)) as found
from live;

-- name: cosines
-- Some memories, compared in full.
select string_agg(uuid_send(id), '') as ids, string_agg(uuid_send(source), '') as sources,
       string_agg(float8send(coalesce(
           case when embedding_model = :model then - (embedding <#> :vector) end, 'NaN')), '') as cosines
from agent_memory_candidate
where organization_id = :organization_id and id = any(cast(:ids as uuid[])) and status = 'active';

-- name: beside
-- The neighbours of some memories, compared in full, each with the place of whose neighbour it is. None is wide.
select string_agg(int4send(place::int4), '') as places, string_agg(uuid_send(near.id), '') as ids,
       string_agg(float8send(coalesce(
           case when embedding_model = :model then - (embedding <#> :vector) end, 'NaN')), '') as cosines
from unnest(cast(:ids as uuid[]), cast(:sources as uuid[])) with ordinality as chosen (id, source, place)
cross join lateral (
    (select id, embedding_model, embedding from agent_memory_candidate
     where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
       and status = 'active' and not wide and source = chosen.source and id < chosen.id
     order by id desc limit 2)
    union all
    (select id, embedding_model, embedding from agent_memory_candidate
     where organization_id = :organization_id and owner_id = :owner_id and bucket = :bucket
       and status = 'active' and not wide and source = chosen.source and id > chosen.id
     order by id limit 2)
) near;

-- name: postings_of
-- Where the commonest of a question's terms stand in some memories, as in `postings`.
select df, ids, counts
from unnest(cast(:terms as text[]), cast(:df as bigint[])) as asked (term, df) cross join lateral (
    select string_agg(uuid_send(memory_id), '') as ids, string_agg(int4send(tf) || int4send(length), '') as counts
    from memory_term
    where organization_id = :organization_id and owner_id = :owner_id and term = asked.term
      and bucket = :bucket and memory_id = any(cast(:ids as uuid[]))
) posting;

-- name: newest
-- The memories of one bucket for a session that has asked nothing yet: recency and type alone decide.
with place as (
    select coalesce(:bucket, (
        select id from matter
        where organization_id = :organization_id and (number = :matter or id = :matter_id))) as id
), first as (
    select id,
           :recency * power(0.5, least(greatest(date_part('epoch', now() - created_at) / 86400 / :half_life, 0), 100))
           + case when type = any(cast(:standing as memory_type[])) then :type else 0 end as score
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and status = 'active' and length >= 0
    order by score desc, id desc limit :limit
), best as (
    select m.*, score from first join agent_memory_candidate m using (id) where organization_id = :organization_id
)
select score, null as cosine, best.id, content, type, scope, confidence, origin, best.created_at, evidence,
       supersedes_id, source_thread_id, source_message_id, source_label, captured_by as captured_by_id,
       name as captured_by_name, coalesce(uses, 0) as uses, last_used_at
from best
left join app_user u on u.organization_id = :organization_id and u.id = captured_by
left join lateral (
    select uses, last_used_at from memory_use_total
    where organization_id = :organization_id and owner_id = :owner_id and memory_id = best.id
    offset 0
) used on true
order by score desc, best.id desc;
