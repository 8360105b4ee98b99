-- name: keep_plan!
-- The best plan is the same whatever is asked. Left to itself, the server plans anew each time, at half a recall's cost.
set local plan_cache_mode = force_generic_plan;

-- name: buckets
-- The best memories of the two buckets for a query, with their scores: the lawyer's own, and those of a matter, given
-- by its id or number. `north.memory.ranking` says what the terms of the score are and what each weighs. Exact: every
-- live row is scored, no approximate index. BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework"
-- (2009), with k1 = 0.9 and b = 0.4, which suit short texts, and the idf that cannot be negative (Lucene's).
with place as materialized (
    select id, number, name from matter
    where organization_id = :organization_id and (number = :matter or id = cast(:matter_id as uuid))
), live as materialized (
    select m.id, m.scope, m.type, m.length, m.created_at, m.source_thread_id, m.source_label,
           case when m.embedding_model = :embedding_model
                then - (m.embedding <#> cast(:query_vector as halfvec)) end as cosine
    from agent_memory_candidate m
    where m.organization_id = :organization_id and m.status = 'active'
      and (m.target_user_id = :user_id or m.target_matter_id = (select id from place))
), bucket as materialized (
    select scope, count(*)::float8 as documents, greatest(avg(length), 1)::float8 as mean_length,
           min(cosine) as lowest_cosine, nullif(max(cosine) - min(cosine), 0) as cosine_range
    from live
    group by scope
), posting as (
    select t.scope, t.memory_id, t.tf::float8 as tf, t.length,
           count(*) over (partition by t.bucket, t.term)::float8 as df
    from memory_term t
    where t.organization_id = :organization_id and t.bucket in (:user_id, (select id from place))
      and t.term = any(:terms)
), lexical as (
    select posting.memory_id, posting.scope,
           sum(ln(1 + (bucket.documents - df + 0.5) / (df + 0.5))
               * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * posting.length / bucket.mean_length))) as bm25
    from posting join bucket on bucket.scope = posting.scope
    group by posting.memory_id, posting.scope
), worded as materialized (
    select memory_id, bm25 / max(bm25) over (partition by scope) as words from lexical
), related as (
    select live.*,
           cast(:words as float8) * coalesce(worded.words, 0)
           -- A memory without a vector is neither near nor far.
           + cast(:meaning as float8)
             * coalesce((live.cosine - bucket.lowest_cosine) / bucket.cosine_range, 0.5) as relation
    from live join bucket on bucket.scope = live.scope
    left join worded on worded.memory_id = live.id
), scored as (
    select id, scope, cosine,
           relation
           + cast(:neighbours as float8)
             * case when source_thread_id is null and source_label is null then 0
                    else coalesce(greatest(lag(relation, 2) over source, lag(relation) over source,
                                           lead(relation) over source, lead(relation, 2) over source), 0) end
           + cast(:recency as float8)
             -- Within bounds, since a time that is far off must not end in an overflow.
             * power(0.5, least(greatest(date_part('epoch', now() - created_at) / (86400 * cast(:half_life_days as float8)), 0), 100))
           + case when type = any(cast(:standing_types as memory_type[])) then cast(:type as float8) else 0 end
           as score
    from related
    window source as (partition by scope, source_thread_id, source_label collate "C" order by id)
), best as (
    (select * from scored where scope = 'user_private' order by score desc, id desc limit :limit)
    union all
    (select * from scored where scope = 'matter' order by score desc, id desc limit :limit)
)
select best.score, best.cosine,
       m.id, m.content, m.type, m.scope, m.status, m.confidence, m.origin, m.created_at, m.evidence,
       m.supersedes_id, m.superseded_at, m.archived_at, m.source_thread_id, m.source_message_id, m.source_label,
       place.id as matter_id, place.number as matter_number, place.name as matter_name,
       m.captured_by as captured_by_id, capturer.name as captured_by_name,
       null as archived_by_id, null as archived_by_name, used.uses, used.last_used_at
from best
join agent_memory_candidate m on m.organization_id = :organization_id and m.id = best.id
left join place on place.id = m.target_matter_id
left join app_user capturer on capturer.organization_id = m.organization_id and capturer.id = m.captured_by
left join lateral (
    select count(*) as uses, max(u.used_at) as last_used_at
    from memory_use u
    where u.organization_id = m.organization_id and u.memory_id = m.id
) used on true
order by best.score desc, best.id desc;
