-- Each index for the statements that name its condition, which is true of every row. How many memories a bucket has is not
-- known when a plan is kept, and of a firm among a thousand a handful was expected: any index that begins with the bucket
-- looked as good, and the rows were fetched one by one. Recall's own, memory_bucket, is left to statements that name none.

drop index memory_sketch, memory_listed;
create index memory_sketch on agent_memory_candidate (organization_id, owner_id, bucket)
    include (id, length, type, created_at, sketch) where status = 'active' and length >= 0;
create index memory_listed on agent_memory_candidate (organization_id, bucket, created_at desc, id desc)
    where length < 2147483647;
