-- Logins that failed lately, counted before anybody knows whose login it is. No firm and no person is named: keys are
-- keyed hashes of what was typed, whether it is a login or not, and of network addresses.

create table login_attempt (
    key_hash bytea primary key,
    -- A failure puts this off by a fixed time; once it has come, none is counted any more.
    spent_until timestamptz not null
);
create index login_attempt_spent on login_attempt (spent_until);

revoke all on login_attempt from public;
grant select, insert, update, delete on login_attempt to north_app;
