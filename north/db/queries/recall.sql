-- name: keep_plan!
-- The best plan is the same whatever is asked. Left to itself, the server plans anew each time, at half a recall's cost.
set local plan_cache_mode = force_generic_plan;

-- name: bucket
-- The best memories of one bucket for a question, with their scores: a lawyer's own (`bucket` is given), or a matter's,
-- by its number or id. `north.memory.ranking` says what the terms of the score are and what each weighs. Exact: every
-- live row is compared, no approximate index. BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework"
-- (2009), with k1 = 0.9 and b = 0.4, which suit short texts, and the idf that cannot be negative (Lucene's).
--
-- Neighbours are looked at where they can matter: a row's score is at most (1 + neighbours) times the greater of its own
-- relation (`fit`) and its neighbours', plus recency and type. `bar` is the relation below which nothing of that reaches
-- the score that the best are known to have. A wide vector is read from its row, since no index can hold it.
with place as (
    select coalesce(:bucket, (
        select id from matter
        where organization_id = :organization_id and (number = :matter or id = :matter_id))) as id
), live as (
    select id, source, length, case when embedding_model = :model then - (embedding <#> :vector) end as cosine
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and status = 'active' and not wide
    union all
    select id, source, length, case when embedding_model = :model then - (embedding <#> :vector) end
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and status = 'active' and wide
), span as (
    select count(*)::float8 as documents, greatest(avg(length), 1)::float8 as mean,
           min(cosine) as low, nullif(max(cosine) - min(cosine), 0) as width
    from live
), posting as (
    select memory_id as id, tf::float8 as tf, length, count(*) over (partition by term)::float8 as df
    from memory_term
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and term = any(:terms)
), said as (
    select id, sum(ln(1 + ((select documents from span) - df + 0.5) / (df + 0.5))
               * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * length / (select mean from span)))) as bm25
    from posting
    group by id
), near as (
    select id, source, cosine,
           :words * coalesce(bm25 / (select max(bm25) from said), 0)
           -- A memory without a vector is neither near nor far.
           + :meaning * coalesce((cosine - (select low from span)) / (select width from span), 0.5) as fit
    from live left join said using (id)
), first as (
    select id, source, fit from near order by fit desc limit :limit
), bar as (
    select case when count(*) < :limit then '-infinity' else
           (min(fit + :neighbours * :meaning
                * coalesce((beside - (select low from span)) / (select width from span), 0))
            - :recency - :type) / (1 + :neighbours) - 1e-9 end as fit
    from first cross join lateral (
        select max(- (embedding <#> :vector)) filter (where embedding_model = :model) as beside
        from ((select embedding_model, embedding from agent_memory_candidate
               where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
                 and status = 'active' and not wide and source = first.source and id < first.id
               order by id desc limit 2)
              union all
              (select embedding_model, embedding from agent_memory_candidate
               where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
                 and status = 'active' and not wide and source = first.source and id > first.id
               order by id limit 2)) as two) as known
), placed as (
    select id, cosine, fit + :neighbours * coalesce(greatest(
               lag(fit, 2) over turns, lag(fit) over turns,
               lead(fit) over turns, lead(fit, 2) over turns), 0) as score
    from near
    where source in (select source from near where fit >= (select fit from bar))
    window turns as (partition by source order by id)
), likely as (
    select id, cosine, score from placed order by score desc, id desc limit :limit + 50
), best as (
    select m.*, cosine, score
           -- Within bounds, since a time that is far off must not end in an overflow.
           + :recency * power(0.5, least(greatest(date_part('epoch', now() - created_at) / 86400 / :half_life, 0), 100))
           + case when type = any(cast(:standing as memory_type[])) then :type else 0 end as score
    from likely join agent_memory_candidate m using (id)
    where organization_id = :organization_id
    order by score desc, id desc limit :limit
)
select (select documents from span) as documents, (select mean from span) as mean, score, cosine,
       best.id, content, type, scope, confidence, origin, best.created_at, evidence, supersedes_id,
       source_thread_id, source_message_id, source_label, captured_by as captured_by_id, name as captured_by_name,
       coalesce(uses, 0) as uses, last_used_at
from best
left join app_user u on u.organization_id = :organization_id and u.id = captured_by
left join lateral (
    select uses, last_used_at from memory_use_total
    where organization_id = :organization_id and owner_id = :owner_id and memory_id = best.id
    offset 0
) used on true
order by score desc, best.id desc;

-- name: size
-- How many memories a bucket holds, and how many terms one of them has on average.
select count(*)::float8 as documents, greatest(avg(length), 1)::float8 as mean
from agent_memory_candidate
where organization_id = :organization_id and owner_id = :owner_id and status = 'active'
  and bucket = coalesce(:bucket, (
      select id from matter where organization_id = :organization_id and (number = :matter or id = :matter_id)));

-- name: large_bucket
-- The same of a bucket that is too large to compare with the question row by row. A first pass chooses whom to score: by
-- the sketch of the vector, by the words, and by both. What it chooses is scored in full, and so are its neighbours.
-- `documents` and `mean` are the bucket's of a while ago; the lowest cosine, which is the zero of meaning, is drawn on
-- from a sample. Wide vectors have no neighbours here. Inner queries with `offset 0` are looked up row by row.
with place as (
    select coalesce(:bucket, (
        select id from matter
        where organization_id = :organization_id and (number = :matter or id = :matter_id))) as id
), asked as (
    select term, ln(1 + (greatest(:documents, count(*)) - count(*) + 0.5) / (count(*) + 0.5)) as idf,
           sum(count(*)) over (order by count(*), term) - count(*) < 100000 as rare
    from memory_term
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and term = any(:terms)
    group by term
), worded as (
    select memory_id, sum(idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * length / :mean))) as bm25
    from asked cross join lateral (
        select memory_id, tf::float8 as tf, length from memory_term
        where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
          and term = asked.term
        offset 0
    ) posting
    where rare
    group by memory_id
), drawn as (
    select binary_quantize(cast(:vector as halfvec)) as bits
), sketched as (
    select id, case when bit_length(sketch) = (select bit_length(bits) from drawn)
                    then sketch <~> (select bits from drawn) end as distance
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and status = 'active'
    order by distance limit 3000
), candidate as (
    select id, max(bm25) as bm25
    from ((select memory_id as id, bm25 from worded order by bm25 desc limit 400)
          union all
          (select id, null from sketched order by distance limit 300)
          union all
          (select id, bm25 from sketched join worded on memory_id = id
           -- A cosine falls by about 2.4 while all signs come to differ, and is stretched to one on its range of 0.6.
           order by :words * bm25 / (select max(bm25) from worded)
                    - :meaning * 4 * distance / (select bit_length(bits) from drawn) desc nulls last
           limit 400)) as either
    group by id
), live as (
    select id, source, cosine, coalesce(candidate.bm25, 0) + coalesce(common.bm25, 0) as bm25
    from candidate cross join lateral (
        select source, case when embedding_model = :model then - (embedding <#> :vector) end as cosine
        from agent_memory_candidate
        where organization_id = :organization_id and id = candidate.id
        offset 0
    ) row cross join lateral (
        select sum(idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * length / :mean))) as bm25
        from asked cross join lateral (
            select tf::float8 as tf, length from memory_term
            where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
              and term = asked.term and memory_id = candidate.id
            offset 0
        ) posting
        where not rare
    ) common
), sample as (
    select case when embedding_model = :model then - (embedding <#> :vector) end as cosine
    from agent_memory_candidate
    where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
      and status = 'active' and not wide
    order by source, id limit 8000
), spread as (
    select lowest, nullif(highest - lowest, 0) as width, most
    from (
        select least(min(cosine), (
                   -- How much farther the lowest of many lies than the lowest of some, as with normal errors.
                   select avg(cosine) - (avg(cosine) - min(cosine)) * sqrt(ln(:documents) / ln(count(*) + 2))
                   from sample
               )) as lowest, max(cosine) as highest, nullif(max(bm25), 0) as most
        from live
    ) as seen
), hit as (
    select id, source, cosine,
           :words * coalesce(bm25 / (select most from spread), 0)
           + :meaning * coalesce((cosine - (select lowest from spread)) / (select width from spread), 0.5) as relation
    from live
    order by relation desc, id desc
    limit :limit + 188
), neighbour as (
    select hit.id as hit_id, hit.relation as hit_relation, near.id, near.cosine
    from hit cross join lateral (
        select id, case when embedding_model = :model then - (embedding <#> :vector) end as cosine
        from ((select id, embedding_model, embedding from agent_memory_candidate
               where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
                 and status = 'active' and not wide and source = hit.source and id < hit.id
               order by id desc limit 2)
              union all
              (select id, embedding_model, embedding from agent_memory_candidate
               where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
                 and status = 'active' and not wide and source = hit.source and id > hit.id
               order by id limit 2)) as two
    ) near
), said as (
    select memory_id, sum(idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * length / :mean))) as bm25
    from asked cross join lateral (
        select memory_id, tf::float8 as tf, length from memory_term
        where organization_id = :organization_id and owner_id = :owner_id and bucket = (select id from place)
          and term = asked.term and memory_id = any(cast((select array_agg(id) from neighbour) as uuid[]))
        offset 0
    ) posting
    group by memory_id
), beside as (
    select hit_id, hit_relation, id, cosine,
           :words * coalesce(bm25 / (select most from spread), 0)
           + :meaning * coalesce((cosine - (select lowest from spread)) / (select width from spread), 0.5) as relation
    from neighbour left join said on memory_id = id
), placed as (
    select id, max(cosine) as cosine, max(relation + :neighbours * coalesce(lent, 0)) as score
    from (
        select hit.id, hit.cosine, hit.relation, max(beside.relation) as lent
        from hit left join beside on hit_id = hit.id
        group by hit.id, hit.cosine, hit.relation
        union all
        select id, cosine, relation, hit_relation from beside
    ) as gained
    group by id
), likely as (
    select id, cosine, score from placed order by score desc, id desc limit :limit + 50
), best as (
    select m.*, cosine, score
           + :recency * power(0.5, least(greatest(date_part('epoch', now() - created_at) / 86400 / :half_life, 0), 100))
           + case when type = any(cast(:standing as memory_type[])) then :type else 0 end as score
    from likely join agent_memory_candidate m using (id)
    where organization_id = :organization_id
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
      and status = 'active'
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
