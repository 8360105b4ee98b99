-- Bind a transaction to whom a key should lead to, and fail, with all that follows in it, unless it does and they may come in.
-- One statement for both, since each costs a recall a tenth of a millisecond. NA401 is North's own (see north.db.connection).
create function north_admit(key_kind text, hash bytea, organization uuid, acting_user uuid) returns void
    language plpgsql
    as $$
    begin
        perform north_bind(organization, acting_user);
        if not exists (
            select from lookup_key k join app_user u on u.organization_id = k.firm_id and u.id = k.user_id
            where k.kind = key_kind and k.key_hash = hash and (k.expires_at is null or k.expires_at > now())
              and k.firm_id = organization and k.user_id = acting_user
              and u.organization_id = north_organization() and u.id = north_user() and u.disabled_at is null
        ) then
            raise exception 'nobody is admitted' using errcode = 'NA401';
        end if;
    end
    $$;
