-- The job library's tables, as an operator sees them. They hold ids, and no text of anybody's.

-- name: state
-- How many jobs of each task wait, run and have failed, and how long the oldest that is due has waited, in seconds.
select j.task_name as task,
       case j.status when 'todo' then 'waiting' when 'doing' then 'running' else 'failed' end as status,
       count(*) as jobs,
       coalesce(max(greatest(extract(epoch from now() - greatest(j.scheduled_at, happened.at)), 0))
                filter (where j.status = 'todo'), 0) as oldest_seconds
from procrastinate_jobs j
left join lateral (select max(e.at) as at from procrastinate_events e where e.job_id = j.id) happened on true
where j.status in ('todo', 'doing', 'failed', 'aborted')
group by 1, 2
order by 1, 2;

-- name: listed
-- Single jobs, the failed ones first.
select j.id, j.task_name as task, j.attempts, j.scheduled_at, happened.at as since, failure.reason,
       case j.status when 'todo' then 'waiting' when 'doing' then 'running' else 'failed' end as status
from procrastinate_jobs j
left join job_failure failure on failure.job_id = j.id
left join lateral (select max(e.at) as at from procrastinate_events e where e.job_id = j.id) happened on true
where j.status in ('todo', 'doing', 'failed', 'aborted')
order by j.status in ('failed', 'aborted') desc, j.id
limit :limit;

-- name: retry
-- Failed jobs start anew, all or one. Of those that must not wait twice, one does.
update procrastinate_jobs set status = 'todo', attempts = 0, scheduled_at = null
where id in (
    select distinct on (coalesce(failed.queueing_lock, cast(failed.id as text))) failed.id
    from procrastinate_jobs failed
    where failed.status in ('failed', 'aborted') and (cast(:id as bigint) is null or failed.id = :id)
      and not exists (select from procrastinate_jobs waiting
                      where waiting.status = 'todo' and waiting.queueing_lock = failed.queueing_lock)
    order by coalesce(failed.queueing_lock, cast(failed.id as text)), failed.id)
returning id;

-- name: held
-- The names under which jobs of a task wait, run or are parked.
select distinct lock from procrastinate_jobs
where task_name = :task and lock is not null and status in ('todo', 'doing', 'failed', 'aborted');

-- name: note_failure
insert into job_failure (job_id, reason) values (:job_id, :reason)
on conflict (job_id) do update set reason = excluded.reason, failed_at = now()
returning job_id;

-- name: forget_failure
delete from job_failure where job_id = :job_id returning job_id;

-- name: forget_failed_runs
-- A periodic task's earlier failures say nothing once it has run again.
with gone as (
    delete from procrastinate_jobs where task_name = :task and status in ('failed', 'aborted') returning id
)
delete from job_failure where job_id in (select id from gone) returning job_id;

-- name: drop_stalled_twins
-- Of a lost worker's jobs, those that wait anew already.
delete from procrastinate_jobs stalled
where stalled.status = 'doing'
  and (stalled.worker_id is null or stalled.worker_id in (
      select id from procrastinate_workers where last_heartbeat < now() - cast(:stalled_after as interval)))
  and exists (select from procrastinate_jobs waiting
              where waiting.status = 'todo' and waiting.queueing_lock = stalled.queueing_lock)
returning stalled.id;

-- name: release_stalled
-- A lost worker's jobs run again elsewhere; one that has lost many workers is parked, since it may be what ends them.
update procrastinate_jobs
set status = cast(case when attempts + 1 >= :most_attempts then 'failed' else 'todo' end as procrastinate_job_status),
    attempts = attempts + 1, scheduled_at = null, worker_id = null, abort_requested = false
where status = 'doing'
  and (worker_id is null or worker_id in (
      select id from procrastinate_workers where last_heartbeat < now() - cast(:stalled_after as interval)))
returning id, task_name as task, status = 'failed' as parked;
