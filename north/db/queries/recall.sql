-- name: bucket
-- The best candidates of one bucket for a query, with what the ranking needs: each row's BM25 and cosine, and their
-- extremes over the whole bucket. The bucket is a lawyer's id, or a matter's id or number. Exact: every live row is
-- scored, no approximate index. BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009),
-- with k1 = 1.2 and b = 0.75 and the idf that cannot be negative (Lucene's).
with bucket as materialized (
    select coalesce(cast(:bucket as uuid), (
        select matter.id from matter
        where matter.organization_id = :organization_id
          and (matter.number = :matter or matter.id = cast(:matter_id as uuid)))) as id
), live as materialized (
    select m.id, m.length,
           case when m.embedding_model = :embedding_model
                then - (m.embedding <#> cast(:query_vector as halfvec)) end as cosine
    from agent_memory_candidate m
    where m.organization_id = :organization_id and m.status = 'active'
      and (m.target_user_id = (select id from bucket) or m.target_matter_id = (select id from bucket))
), total as (
    select count(*)::float8 as documents, greatest(avg(length), 1)::float8 as mean_length,
           min(cosine) as lowest_cosine, max(cosine) as highest_cosine
    from live
), posting as (
    select t.memory_id, t.tf::float8 as tf, t.length, count(*) over (partition by t.term)::float8 as df
    from memory_term t
    where t.organization_id = :organization_id and t.bucket = (select id from bucket) and t.term = any(:terms)
), lexical as (
    select posting.memory_id,
           sum(ln(1 + (total.documents - df + 0.5) / (df + 0.5))
               * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * posting.length / total.mean_length))) as bm25
    from posting cross join total
    group by posting.memory_id
), best as (
    select live.id, live.cosine, coalesce(lexical.bm25, 0) as bm25, total.documents,
           total.lowest_cosine, total.highest_cosine, max(coalesce(lexical.bm25, 0)) over () as highest_bm25
    from live left join lexical on lexical.memory_id = live.id cross join total
    order by coalesce(lexical.bm25 / nullif(max(lexical.bm25) over (), 0), 0)
           + coalesce((live.cosine - total.lowest_cosine)
                      / nullif(total.highest_cosine - total.lowest_cosine, 0), 0.5) desc, live.id desc
    limit :candidates
)
select best.cosine, best.bm25, best.documents, best.lowest_cosine, best.highest_cosine, best.highest_bm25,
       m.id, m.content, m.type, m.scope, m.status, m.confidence, m.origin, m.created_at, m.evidence,
       m.supersedes_id, m.superseded_at, m.archived_at, m.source_thread_id, m.source_message_id, m.source_label,
       m.target_matter_id as matter_id, matter.number as matter_number, matter.name as matter_name,
       m.captured_by as captured_by_id, capturer.name as captured_by_name,
       null as archived_by_id, null as archived_by_name, used.uses, used.last_used_at
from best
join agent_memory_candidate m on m.organization_id = :organization_id and m.id = best.id
left join matter on matter.organization_id = m.organization_id and matter.id = m.target_matter_id
left join app_user capturer on capturer.organization_id = m.organization_id and capturer.id = m.captured_by
left join lateral (
    select count(*) as uses, max(u.used_at) as last_used_at
    from memory_use u
    where u.organization_id = m.organization_id and u.memory_id = m.id
) used on true;
