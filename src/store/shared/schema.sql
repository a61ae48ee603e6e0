-- The store that the servers of a cluster share. `part` is 0 everywhere: there is one journal.
--
-- Servers call functions and touch no table. Each function that they rely on refuses to run where a
-- commit would not wait for a standby: what was answered would be lost with this machine.

-- A call waits at most two seconds for a lock: one that waits for a standby keeps its row, and those
-- that a server gave up would fill all connections.

CREATE SCHEMA slotbook;

CREATE TABLE slotbook.cluster (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    id      uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Version of this schema.
    version integer NOT NULL,
    -- Seals what servers tell each other, and hashes what limits count by.
    secret  bytea NOT NULL,
    -- The formats in force: no record and no snapshot of a newer one is written. They never fall.
    record_format   integer NOT NULL,
    snapshot_format integer NOT NULL,
    -- The time zone data in force, as in 2025b: the newest by which a server that decides has
    -- resolved appointments. None with older data may decide.
    tzdata  text COLLATE "C" NOT NULL
);

-- One row for each batch, and one without bytes for each change of the owner.
CREATE TABLE slotbook.journal (
    part  integer NOT NULL,
    n     bigint NOT NULL,
    epoch bigint NOT NULL,
    owner uuid NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (part, n),
    CHECK (epoch > 0 OR n = 0)
);
ALTER TABLE slotbook.journal ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Snapshots of all states. Each follows the row `n` of the journal, or a later one.
CREATE TABLE slotbook.snapshot (
    part   integer NOT NULL,
    n      bigint NOT NULL,
    format integer NOT NULL,
    frames bigint NOT NULL,
    bytes  bigint NOT NULL,
    sha256 bytea NOT NULL,
    PRIMARY KEY (part, n)
);

CREATE TABLE slotbook.frame (
    part  integer NOT NULL,
    n     bigint NOT NULL,
    i     bigint NOT NULL,
    crc32 bigint NOT NULL,
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 262144),
    PRIMARY KEY (part, n, i)
);
ALTER TABLE slotbook.frame ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE slotbook.node (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Address at which the other servers reach it.
    url         text NOT NULL UNIQUE,
    -- A fresh one for each start of the server.
    incarnation uuid NOT NULL,
    version     text NOT NULL,
    -- The newest formats that it knows, and its time zone data.
    record_format   integer NOT NULL,
    snapshot_format integer NOT NULL,
    tzdata      text COLLATE "C" NOT NULL,
    beat        bigint NOT NULL DEFAULT 0,
    beaten_at   timestamptz NOT NULL DEFAULT now(),
    -- Last row of the journal that it has applied.
    applied     bigint NOT NULL DEFAULT 0,
    -- Whether it has left, and has not joined again since.
    has_left    boolean NOT NULL DEFAULT false
);

-- The server that decides. Its beat is counted here as well, and a server that takes over locks the
-- row: so no beat of the former one is confirmed after that.
CREATE TABLE slotbook.holder (
    part        integer PRIMARY KEY,
    node        integer REFERENCES slotbook.node (id),
    incarnation uuid,
    beat        bigint NOT NULL DEFAULT 0,
    -- Whether it has left, so that others need not wait.
    released    boolean NOT NULL DEFAULT true,
    -- The server to which it is to hand over. Once it has left, only that one need not wait.
    successor   integer REFERENCES slotbook.node (id)
);

-- Counts of limits, as the server that decides has saved them last.
CREATE TABLE slotbook.counts (
    part  integer NOT NULL,
    name  text NOT NULL,
    -- Number of beats of the server that decides, which its successors go on to count.
    beat  bigint NOT NULL,
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 4194304),
    PRIMARY KEY (part, name)
);
ALTER TABLE slotbook.counts ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Sessions of the API that have not ended, as the server that decides has saved them last.
CREATE TABLE slotbook.session (
    part  integer NOT NULL,
    -- SHA-256 of the token.
    token bytea NOT NULL CHECK (octet_length(token) = 32),
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 4096),
    PRIMARY KEY (part, token)
);

INSERT INTO slotbook.journal VALUES (0, 0, 0, '00000000-0000-0000-0000-000000000000', '');
INSERT INTO slotbook.holder (part) VALUES (0);

CREATE FUNCTION slotbook.is_synchronous() RETURNS boolean
LANGUAGE sql STABLE
RETURN current_setting('synchronous_standby_names') <> ''
    AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
    AND current_setting('fsync') = 'on';

CREATE FUNCTION slotbook.require_synchronous() RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT slotbook.is_synchronous() THEN
        RAISE EXCEPTION 'a commit would not wait for a standby'
            USING ERRCODE = 'SB002',
                  HINT = 'set synchronous_standby_names, synchronous_commit = on and fsync = on';
    END IF;
END $$;

-- Refuses a server while the store is being filled: it would begin with a part, or with nothing. No
-- server has decided then, and the journal has begun without a snapshot.
CREATE FUNCTION slotbook.require_filled(p integer) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM holder h WHERE h.part = p AND h.node IS NULL)
        AND EXISTS (SELECT 1 FROM journal j WHERE j.part = p AND j.n > 0)
        AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.part = p)
    THEN
        RAISE EXCEPTION 'an import into the shared store has not ended' USING ERRCODE = 'SB008',
            HINT = 'wait for it; one that was broken off is run again: slotbook cluster import';
    END IF;
END $$;

CREATE FUNCTION slotbook.join_cluster(
    node_url text, node_incarnation uuid, node_version text,
    node_record_format integer, node_snapshot_format integer, node_tzdata text
) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
    SELECT require_filled(0);
    INSERT INTO node (url, incarnation, version, record_format, snapshot_format, tzdata)
    VALUES (node_url, node_incarnation, node_version, node_record_format, node_snapshot_format,
            node_tzdata)
    ON CONFLICT (url) DO UPDATE SET
        incarnation = excluded.incarnation, version = excluded.version,
        record_format = excluded.record_format, snapshot_format = excluded.snapshot_format,
        tzdata = excluded.tzdata, beat = node.beat + 1, beaten_at = now(), applied = 0,
        has_left = false
    RETURNING id
$$;

-- Counts a beat of a server, which has applied the rows up to `my_applied`, and returns who
-- decides, and what is in force.
CREATE FUNCTION slotbook.beat(
    p integer, me integer, my_incarnation uuid, my_applied bigint,
    OUT holder_node integer, OUT holder_incarnation uuid, OUT holder_beat bigint,
    OUT holder_released boolean, OUT holder_successor integer, OUT holder_url text,
    OUT last_row bigint,
    OUT in_force_records integer, OUT in_force_snapshots integer, OUT in_force_tzdata text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM require_synchronous();
    UPDATE node SET beat = beat + 1, beaten_at = clock_timestamp(), applied = my_applied
        WHERE id = me AND incarnation = my_incarnation;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another server has joined with this address'
            USING ERRCODE = 'SB004';
    END IF;
    UPDATE holder SET beat = beat + 1
        WHERE part = p AND node = me AND incarnation = my_incarnation AND NOT released;
    SELECT h.node, h.incarnation, h.beat, h.released, h.successor, coalesce(o.url, ''),
           (SELECT max(j.n) FROM journal j WHERE j.part = p)
        INTO holder_node, holder_incarnation, holder_beat, holder_released, holder_successor,
             holder_url, last_row
        FROM holder h LEFT JOIN node o ON o.id = h.node WHERE h.part = p;
    SELECT c.record_format, c.snapshot_format, c.tzdata
        INTO in_force_records, in_force_snapshots, in_force_tzdata FROM cluster c;
END $$;

-- Whether a server knows the formats in force, and has no older time zone data.
CREATE FUNCTION slotbook.may_decide(of_node integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    SELECT EXISTS (
        SELECT 1 FROM cluster c, node o WHERE o.id = of_node
            AND o.record_format >= c.record_format AND o.snapshot_format >= c.snapshot_format
            AND o.tzdata >= c.tzdata)
$$;

-- Refuses a server that may not decide. Of one that may, the time zone data are in force from now
-- on.
CREATE FUNCTION slotbook.admit(me integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
BEGIN
    IF NOT may_decide(me) THEN
        RAISE EXCEPTION 'the server is older than what is in force in the cluster'
            USING ERRCODE = 'SB007';
    END IF;
    UPDATE cluster c SET tzdata = o.tzdata FROM node o WHERE o.id = me AND o.tzdata > c.tzdata;
END $$;

-- Adds a row of a new owner after the last one; where `mine` is given, only if that is of one of
-- these owners.
CREATE FUNCTION slotbook.take(
    p integer, o uuid, mine uuid[], OUT n bigint, OUT epoch bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM require_synchronous();
    INSERT INTO journal AS taken (part, n, epoch, owner, bytes)
        SELECT p, last.n + 1, last.epoch + 1, o, ''
        FROM (SELECT j.n, j.epoch, j.owner FROM journal j
              WHERE j.part = p ORDER BY j.n DESC LIMIT 1) last
        WHERE mine IS NULL OR last.owner = ANY (mine)
        RETURNING taken.n, taken.epoch INTO take.n, take.epoch;
    IF FOUND THEN
        RETURN;
    ELSIF mine IS NULL THEN
        RAISE EXCEPTION 'the table slotbook.journal, part %, has no row', p
            USING ERRCODE = 'SB003';
    END IF;
    RAISE EXCEPTION 'another server has taken part %', p USING ERRCODE = 'SB001';
END $$;

-- Takes for a command that fills a store in which no server has decided. One that was broken off may
-- have taken before it.
CREATE FUNCTION slotbook.take_empty(p integer, o uuid, OUT n bigint, OUT epoch bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM FROM holder h WHERE h.part = p AND h.node IS NULL FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT 1 FROM snapshot s WHERE s.part = p) THEN
        RAISE EXCEPTION 'it has been used already' USING ERRCODE = 'SB009',
            HINT = 'make a cluster in another database';
    END IF;
    SELECT t.n, t.epoch INTO take_empty.n, take_empty.epoch FROM take(p, o, NULL) t;
END $$;

-- Takes for a server, if the one that decides has not been heard since `seen`; without it, if that
-- one has left and named this server its successor. No row otherwise.
CREATE FUNCTION slotbook.take_over(
    p integer, o uuid, me integer, my_incarnation uuid, seen bigint
) RETURNS TABLE (n bigint, epoch bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM require_filled(p);
    UPDATE holder SET node = me, incarnation = my_incarnation, beat = beat + 1, released = false,
        successor = NULL
        WHERE part = p
            AND CASE WHEN seen IS NULL THEN released AND successor = me ELSE beat = seen END;
    IF FOUND THEN
        -- Others wait for the row of the holder: what they see here is what this one leaves.
        PERFORM admit(me);
        RETURN QUERY SELECT t.n, t.epoch FROM take(p, o, NULL) t;
    END IF;
END $$;

-- Asks the server that decides to hand over: to the one at `to_url`, or where that is empty to the
-- one of those that beat and may decide which has applied most. Returns the addresses of both.
CREATE FUNCTION slotbook.ask_hand_over(
    p integer, to_url text, OUT from_url text, OUT successor_url text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
DECLARE
    chosen integer;
BEGIN
    PERFORM require_synchronous();
    SELECT o.url INTO from_url FROM holder h
        JOIN node o ON o.id = h.node AND o.incarnation = h.incarnation
        WHERE h.part = p AND NOT h.released
            AND o.beaten_at > clock_timestamp() - interval '2500 ms'
        FOR UPDATE OF h;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no server decides now' USING ERRCODE = 'SB006',
            HINT = 'wait until one does: slotbook cluster status';
    END IF;
    SELECT o.id, o.url INTO chosen, successor_url FROM node o
        WHERE o.url <> from_url AND to_url IN ('', o.url)
            AND o.beaten_at > clock_timestamp() - interval '2500 ms' AND may_decide(o.id)
        ORDER BY o.applied DESC, o.beaten_at DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no other server% follows now and may take over',
            coalesce(' at ' || nullif(to_url, ''), '')
            USING ERRCODE = 'SB006', HINT = 'start it first: slotbook cluster status';
    END IF;
    UPDATE holder SET successor = chosen WHERE part = p;
END $$;

-- Leaves to the others, who need not wait. The commit waits for no disk and no standby: that of the
-- one that takes over does so for both, and a release that is lost costs others their wait only.
CREATE FUNCTION slotbook.release(p integer, me integer, my_incarnation uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    -- Until the end of the transaction, which is after that of the function.
    SELECT set_config('synchronous_commit', 'off', true);
    UPDATE node SET has_left = true WHERE id = me AND incarnation = my_incarnation;
    UPDATE holder SET released = true, beat = beat + 1
        WHERE part = p AND node = me AND incarnation = my_incarnation
$$;

-- Adds a batch after the row before it, if that is of the same owner and epoch.
CREATE FUNCTION slotbook.append(p integer, m bigint, e bigint, o uuid, b bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM require_synchronous();
    INSERT INTO journal (part, n, epoch, owner, bytes)
        SELECT p, m, e, o, b WHERE EXISTS (
            SELECT 1 FROM journal j
            WHERE j.part = p AND j.n = m - 1 AND j.epoch = e AND j.owner = o);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fenced: another server has taken part %', p USING ERRCODE = 'SB001';
    END IF;
END $$;

-- Returns the row `after` without its bytes, and then those after it: at most `most` rows in all, and
-- about 4 MiB.
CREATE FUNCTION slotbook.read_journal(p integer, after bigint, most integer)
RETURNS TABLE (n bigint, epoch bigint, owner uuid, bytes bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    total bigint := 0;
BEGIN
    FOR n, epoch, owner, bytes IN
        SELECT j.n, j.epoch, j.owner, CASE WHEN j.n = after THEN '' ELSE j.bytes END
        FROM journal j WHERE j.part = p AND j.n >= after ORDER BY j.n LIMIT most
    LOOP
        RETURN NEXT;
        total := total + octet_length(bytes);
        EXIT WHEN total >= 4194304;
    END LOOP;
END $$;

CREATE FUNCTION slotbook.list_snapshots(p integer)
RETURNS TABLE (n bigint, format integer, frames bigint, bytes bigint, sha256 bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
    SELECT s.n, s.format, s.frames, s.bytes, s.sha256 FROM snapshot s
    WHERE s.part = p ORDER BY s.n DESC
$$;

CREATE FUNCTION slotbook.read_frames(p integer, of_n bigint, after bigint, most integer)
RETURNS TABLE (i bigint, crc32 bigint, bytes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s'
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT f.i, f.crc32, f.bytes FROM frame f
    WHERE f.part = p AND f.n = of_n AND f.i > after ORDER BY f.i LIMIT most
$$;

-- Removes the frames of snapshots that were never published, and begins one.
CREATE FUNCTION slotbook.begin_snapshot(p integer, of_n bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
BEGIN
    LOCK TABLE snapshot IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM frame f WHERE f.part = p AND f.n <= of_n
        AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.part = p AND s.n = f.n);
END $$;

CREATE FUNCTION slotbook.put_frame(
    p integer, of_n bigint, at bigint, of_crc32 bigint, b bytea
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    INSERT INTO frame (part, n, i, crc32, bytes) VALUES (p, of_n, at, of_crc32, b)
$$;

-- Makes a snapshot the newest one, unless there is a newer one, and removes what only others than the
-- one before need: that is `sound`, which the caller has read or written, and not a damaged one after
-- it. The last row of the journal stays. Returns whether it is the newest.
CREATE FUNCTION slotbook.publish_snapshot(
    p integer, of_n bigint, of_format integer, of_frames bigint, of_bytes bigint, of_sha256 bytea,
    sound bigint
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    before bigint;
BEGIN
    PERFORM require_synchronous();
    LOCK TABLE snapshot IN SHARE ROW EXCLUSIVE MODE;
    SELECT max(s.n) INTO before FROM snapshot s WHERE s.part = p;
    IF before >= of_n THEN
        RETURN false;
    END IF;
    IF (SELECT count(*) FROM frame f WHERE f.part = p AND f.n = of_n) <> of_frames THEN
        RAISE EXCEPTION 'frames of snapshot % are gone', of_n USING ERRCODE = 'SB005';
    END IF;
    IF EXISTS (SELECT 1 FROM snapshot s WHERE s.part = p AND s.n = sound) THEN
        before := sound;
    END IF;
    INSERT INTO snapshot (part, n, format, frames, bytes, sha256)
        VALUES (p, of_n, of_format, of_frames, of_bytes, of_sha256);
    DELETE FROM snapshot s WHERE s.part = p AND s.n < of_n AND s.n <> before;
    DELETE FROM frame f WHERE f.part = p AND f.n < of_n AND f.n <> before;
    DELETE FROM journal j WHERE j.part = p AND j.n <= before
        AND j.n < (SELECT max(l.n) FROM journal l WHERE l.part = p);
    RETURN true;
END $$;

-- Publishes the first snapshot of a store, which the owner `importer` has filled, if no other has
-- taken since. A server that has read the journal of the empty store is not to go on from there: so
-- the row gets another owner, and those before it are removed.
CREATE FUNCTION slotbook.publish_import(
    p integer, of_n bigint, of_format integer, of_frames bigint, of_bytes bigint, of_sha256 bytea,
    importer uuid
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
BEGIN
    LOCK TABLE snapshot IN SHARE ROW EXCLUSIVE MODE;
    UPDATE journal j SET owner = gen_random_uuid()
        WHERE j.part = p AND j.n = of_n AND j.owner = importer
            AND j.n = (SELECT max(l.n) FROM journal l WHERE l.part = p)
            AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.part = p);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another import has begun since' USING ERRCODE = 'SB009',
            HINT = 'let one of them end alone';
    END IF;
    DELETE FROM journal j WHERE j.part = p AND j.n < of_n;
    RETURN publish_snapshot(p, of_n, of_format, of_frames, of_bytes, of_sha256, 0);
END $$;

-- Saves counts of a server, if it decides and no later ones are there. The holder's row is not
-- locked, so that no beat waits: a save that is late finds the counts of a later beat. The last ones
-- may be lost, so that the commit waits for no disk and no standby.
CREATE FUNCTION slotbook.save_counts(
    p integer, me integer, my_incarnation uuid, of_name text, b bytea
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    -- Until the end of the transaction, which is after that of the function.
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO counts AS saved (part, name, beat, bytes)
        SELECT p, of_name, h.beat, b FROM holder h
        WHERE h.part = p AND h.node = me AND h.incarnation = my_incarnation AND NOT h.released
        ON CONFLICT (part, name) DO UPDATE SET beat = excluded.beat, bytes = excluded.bytes
            WHERE saved.beat <= excluded.beat;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fenced: another server decides part %', p USING ERRCODE = 'SB001';
    END IF;
END $$;

CREATE FUNCTION slotbook.read_counts(p integer) RETURNS TABLE (name text, bytes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    SELECT c.name, c.bytes FROM counts c WHERE c.part = p
$$;

-- Saves sessions of a server, if it decides. One without bytes has ended. Those of servers before
-- are removed first if they could not be read. The holder's row is not locked, as above. Ends wait
-- for a standby, all else for no disk.
CREATE FUNCTION slotbook.save_sessions(
    p integer, me integer, my_incarnation uuid, tokens bytea[], contents bytea[], anew boolean
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    IF anew OR array_position(contents, NULL) IS NOT NULL THEN
        PERFORM require_synchronous();
    ELSE
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    PERFORM FROM holder h
        WHERE h.part = p AND h.node = me AND h.incarnation = my_incarnation AND NOT h.released;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fenced: another server decides part %', p USING ERRCODE = 'SB001';
    END IF;
    IF anew THEN
        DELETE FROM session s WHERE s.part = p;
    END IF;
    DELETE FROM session s USING unnest(tokens, contents) AS c (token, bytes)
        WHERE s.part = p AND s.token = c.token AND c.bytes IS NULL;
    INSERT INTO session (part, token, bytes)
        SELECT p, c.token, c.bytes FROM unnest(tokens, contents) AS c (token, bytes)
        WHERE c.bytes IS NOT NULL
        ON CONFLICT (part, token) DO UPDATE SET bytes = excluded.bytes;
END $$;

CREATE FUNCTION slotbook.read_sessions(p integer) RETURNS TABLE (token bytea, bytes bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    SELECT s.token, s.bytes FROM session s WHERE s.part = p
$$;

CREATE FUNCTION slotbook.describe_cluster()
RETURNS TABLE (
    id uuid, version integer, secret bytea,
    record_format integer, snapshot_format integer, tzdata text
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    SELECT c.id, c.version, c.secret, c.record_format, c.snapshot_format, c.tzdata FROM cluster c
$$;

-- Raises the formats in force. A server that joins meanwhile and does not know them learns of it
-- with its first beat, and may not take.
CREATE FUNCTION slotbook.raise_formats(records integer, snapshots integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM require_synchronous();
    UPDATE cluster c SET record_format = greatest(c.record_format, records),
        snapshot_format = greatest(c.snapshot_format, snapshots);
END $$;

-- Raises the time zone data in force to those of a content that the store is filled with.
CREATE FUNCTION slotbook.raise_tzdata(filled text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = slotbook, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM require_synchronous();
    UPDATE cluster c SET tzdata = filled WHERE c.tzdata < filled;
END $$;

-- The servers that have joined, with the milliseconds since the last beat of each, and the rows that
-- it had not applied then.
CREATE FUNCTION slotbook.list_nodes(p integer)
RETURNS TABLE (
    url text, version text, record_format integer, snapshot_format integer, tzdata text,
    silent_ms bigint, is_holder boolean, has_left boolean, lag bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = slotbook, pg_temp AS $$
    SELECT o.url, o.version, o.record_format, o.snapshot_format, o.tzdata,
           (extract(epoch FROM clock_timestamp() - o.beaten_at) * 1000)::bigint,
           coalesce(h.node = o.id AND h.incarnation = o.incarnation AND NOT h.released, false),
           o.has_left,
           CASE WHEN h.node = o.id THEN 0
                ELSE greatest((SELECT max(j.n) FROM journal j WHERE j.part = p) - o.applied, 0) END
    FROM node o LEFT JOIN holder h ON h.part = p ORDER BY o.id
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA slotbook FROM PUBLIC;
