-- What PostgreSQL has beside the tables and indices of db/migrations: its own words for their triggers, which bear the same
-- names (a test compares), for the rows that they begin with, and what only it needs.  It is run after every migration: triggers
-- are made anew, the rest is there or not.  A new trigger of a migration is written here too.

-- Which schema this is, and what the last commit left, so that one whose answer was lost can be found out (db_postgres.c).
CREATE TABLE IF NOT EXISTS store (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL, mark BIGINT NOT NULL);
DROP TABLE IF EXISTS replica;

DO $do$
DECLARE t record;
BEGIN
    FOR t IN SELECT tgname, tgrelid::regclass AS name FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
        WHERE NOT tgisinternal AND c.relnamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', t.tgname, t.name);
    END LOOP;
END$do$;

-- lower() as SQLite means it.
CREATE OR REPLACE FUNCTION ascii_lower(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT lower($1 COLLATE "C")$$;

CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation'; END$$;

-- ---- rows that are there from the beginning ----
INSERT INTO witness(id, store, counter) VALUES (1, replace(gen_random_uuid()::text, '-', ''), 0) ON CONFLICT DO NOTHING;
INSERT INTO project(id, name, version, created_ms, updated_ms) SELECT 'prj_default', 'default', 1, at_ms, at_ms FROM
    (SELECT (1000 * extract(epoch FROM now()))::bigint AS at_ms) n ON CONFLICT DO NOTHING;
INSERT INTO chain(id, first_seq, first_head, seq, head, at_ms, total)
    SELECT 1, 0, zero, 0, zero, 0, '' FROM (SELECT decode(repeat('00', 32), 'hex') AS zero) z ON CONFLICT DO NOTHING;

-- ---- the log ----
-- Its lines are numbered without gaps, as they are committed, by the one writer (db/writer/chain.c).  Triggers of rows do not see TRUNCATE.
CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event FOR EACH ROW WHEN (
    (NEW.detail IS DISTINCT FROM OLD.detail AND NEW.detail IS NOT NULL) OR
    (NEW.salt IS DISTINCT FROM OLD.salt AND NEW.salt IS NOT NULL) OR
    (NEW.erased IS DISTINCT FROM OLD.erased AND OLD.erased IS NOT NULL) OR
    (NEW.bound IS DISTINCT FROM OLD.bound AND OLD.bound IS NOT NULL) OR
    NEW.seq <> OLD.seq OR NEW.at_ms <> OLD.at_ms OR NEW.kind <> OLD.kind OR NEW.study IS DISTINCT FROM OLD.study OR
    NEW.revision <> OLD.revision OR NEW.trial <> OLD.trial OR NEW.actor <> OLD.actor OR NEW.project <> OLD.project)
    EXECUTE FUNCTION refuse('the log is append-only');
CREATE OR REPLACE FUNCTION keep_event() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF OLD.seq > (SELECT first_seq FROM chain) AND
        OLD.seq > coalesce((SELECT last FROM log_gap WHERE first <= OLD.seq ORDER BY first DESC LIMIT 1), 0) THEN
        RAISE EXCEPTION 'the log is append-only' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END$$;
CREATE TRIGGER event_is_not_deleted BEFORE DELETE ON event FOR EACH ROW EXECUTE FUNCTION keep_event();
CREATE TRIGGER event_is_not_truncated BEFORE TRUNCATE ON event EXECUTE FUNCTION refuse('the log is append-only');

CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE OF federation, round, mechanism, epsilon, delta, total, sha256, at_ms ON
    federation_ledger FOR EACH ROW EXECUTE FUNCTION refuse('the ledger is append-only');
CREATE TRIGGER ledger_is_not_deleted BEFORE DELETE ON federation_ledger FOR EACH ROW
    EXECUTE FUNCTION refuse('the ledger is append-only');
CREATE TRIGGER ledger_is_not_truncated BEFORE TRUNCATE ON federation_ledger
    EXECUTE FUNCTION refuse('the ledger is append-only');
CREATE TRIGGER broadcast_is_not_changed BEFORE UPDATE OF federation, round, messages, data, at_ms ON federation_broadcast
    FOR EACH ROW EXECUTE FUNCTION refuse('a broadcast is not changed');

-- ---- what is counted ----
-- How many studies and trials are in each state.  A row that a transaction changes again and again gets slower each time, so
-- the session adds up (a savepoint that is undone takes that back, too), and what it came to is written before the commit.
CREATE OR REPLACE FUNCTION count_state() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE name text := 'gnomon.' || TG_ARGV[0] || '_';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM set_config(name || OLD.state, (set_number(name || OLD.state) - 1)::text, true);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM set_config(name || NEW.state, (set_number(name || NEW.state) + 1)::text, true);
    END IF;
    RETURN NULL;
END$$;
CREATE OR REPLACE FUNCTION set_number(name text) RETURNS bigint LANGUAGE sql STABLE
    AS $$SELECT coalesce(nullif(current_setting(name, true), ''), '0')::bigint$$;
CREATE OR REPLACE FUNCTION write_tally(of_thing text, of_state text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE name text := 'gnomon.' || of_thing || '_' || of_state; more bigint := set_number(name);
BEGIN
    IF more = 0 THEN RETURN; END IF;
    PERFORM set_config(name, '0', true);
    INSERT INTO tally(thing, state, count) VALUES (of_thing, of_state, more)
        ON CONFLICT (thing, state) DO UPDATE SET count = tally.count + excluded.count;
END$$;
CREATE OR REPLACE FUNCTION keep_tally() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP <> 'INSERT' THEN PERFORM write_tally(TG_ARGV[0], OLD.state); END IF;
    IF TG_OP <> 'DELETE' THEN PERFORM write_tally(TG_ARGV[0], NEW.state); END IF;
    RETURN NULL;
END$$;
CREATE TRIGGER study_comes AFTER INSERT ON study FOR EACH ROW EXECUTE FUNCTION count_state('study');
CREATE TRIGGER study_moves AFTER UPDATE OF state ON study FOR EACH ROW WHEN (OLD.state <> NEW.state)
    EXECUTE FUNCTION count_state('study');
CREATE TRIGGER study_goes AFTER DELETE ON study FOR EACH ROW EXECUTE FUNCTION count_state('study');
CREATE CONSTRAINT TRIGGER study_is_tallied AFTER INSERT OR DELETE OR UPDATE OF state ON study DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION keep_tally('study');
CREATE TRIGGER trial_comes AFTER INSERT ON trial FOR EACH ROW EXECUTE FUNCTION count_state('trial');
CREATE TRIGGER trial_moves AFTER UPDATE OF state ON trial FOR EACH ROW WHEN (OLD.state <> NEW.state)
    EXECUTE FUNCTION count_state('trial');
CREATE TRIGGER trial_goes AFTER DELETE ON trial FOR EACH ROW EXECUTE FUNCTION count_state('trial');
CREATE CONSTRAINT TRIGGER trial_is_tallied AFTER INSERT OR DELETE OR UPDATE OF state ON trial DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION keep_tally('trial');

-- What a project has.
CREATE OR REPLACE FUNCTION count_study() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP = 'UPDATE' THEN -- a study stays in its project
        UPDATE project SET used_trials = used_trials + NEW.total - OLD.total,
            used_extra = used_extra + NEW.extra_bytes - OLD.extra_bytes WHERE id = NEW.project;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        UPDATE project SET used_studies = used_studies - 1, used_trials = used_trials - OLD.total,
            used_extra = used_extra - OLD.extra_bytes WHERE id = OLD.project;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        UPDATE project SET used_studies = used_studies + 1, used_trials = used_trials + NEW.total,
            used_extra = used_extra + NEW.extra_bytes WHERE id = NEW.project;
    END IF;
    RETURN NULL;
END$$;
CREATE TRIGGER study_is_counted AFTER INSERT ON study FOR EACH ROW EXECUTE FUNCTION count_study();
CREATE TRIGGER study_is_recounted AFTER UPDATE OF total, extra_bytes ON study FOR EACH ROW
    WHEN (NEW.total <> OLD.total OR NEW.extra_bytes <> OLD.extra_bytes) EXECUTE FUNCTION count_study();
CREATE TRIGGER study_is_discounted AFTER DELETE ON study FOR EACH ROW EXECUTE FUNCTION count_study();
CREATE OR REPLACE FUNCTION count_federation() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE project SET used_studies = used_studies + 1,
            used_extra = used_extra + 500 + octet_length(NEW.spec) + octet_length(NEW.features) WHERE id = NEW.project;
        RETURN NEW;
    END IF;
    UPDATE project SET used_studies = used_studies - 1,
        used_extra = used_extra - 500 - octet_length(OLD.spec) - octet_length(OLD.features) -
        (SELECT coalesce(sum(100 + octet_length(data)), 0) FROM federation_message WHERE federation = OLD.id) -
        (SELECT coalesce(sum(100 + octet_length(data)), 0) FROM federation_broadcast WHERE federation = OLD.id)
        WHERE id = OLD.project;
    RETURN OLD;
END$$;
CREATE TRIGGER federation_is_counted AFTER INSERT ON federation FOR EACH ROW EXECUTE FUNCTION count_federation();
CREATE TRIGGER federation_is_discounted BEFORE DELETE ON federation FOR EACH ROW EXECUTE FUNCTION count_federation();
CREATE OR REPLACE FUNCTION weigh_vector() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE project SET used_extra = used_extra + 100 + octet_length(NEW.data)
            WHERE id = (SELECT project FROM federation WHERE federation.id = NEW.federation);
    ELSE
        UPDATE project SET used_extra = used_extra - 100 - octet_length(OLD.data)
            WHERE id = (SELECT project FROM federation WHERE federation.id = OLD.federation);
    END IF;
    RETURN NULL;
END$$;
CREATE TRIGGER message_weighs AFTER INSERT ON federation_message FOR EACH ROW EXECUTE FUNCTION weigh_vector();
CREATE TRIGGER message_weighed AFTER DELETE ON federation_message FOR EACH ROW EXECUTE FUNCTION weigh_vector();
CREATE TRIGGER broadcast_weighs AFTER INSERT ON federation_broadcast FOR EACH ROW EXECUTE FUNCTION weigh_vector();
CREATE OR REPLACE FUNCTION count_game() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE project SET used_studies = used_studies + 1, used_extra = used_extra + 500 + octet_length(NEW.spec)
            WHERE id = NEW.project;
        RETURN NEW;
    END IF;
    UPDATE project SET used_studies = used_studies - 1, used_extra = used_extra - 500 - octet_length(OLD.spec) -
        (SELECT coalesce(sum(400 + coalesce(octet_length(point), 0)), 0) FROM game_play WHERE game = OLD.id)
        WHERE id = OLD.project;
    RETURN OLD;
END$$;
CREATE TRIGGER game_is_counted AFTER INSERT ON game FOR EACH ROW EXECUTE FUNCTION count_game();
CREATE TRIGGER game_is_discounted BEFORE DELETE ON game FOR EACH ROW EXECUTE FUNCTION count_game();
CREATE OR REPLACE FUNCTION weigh_play() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    UPDATE project SET used_extra = used_extra + 400 + coalesce(octet_length(NEW.point), 0)
        WHERE id = (SELECT project FROM game WHERE game.id = NEW.game);
    RETURN NULL;
END$$;
CREATE TRIGGER play_weighs AFTER INSERT ON game_play FOR EACH ROW EXECUTE FUNCTION weigh_play();

-- What a study weighs.
CREATE OR REPLACE FUNCTION add_weight(of text, more bigint) RETURNS void LANGUAGE sql
    AS $$UPDATE study SET extra_bytes = extra_bytes + more WHERE id = of$$;
CREATE OR REPLACE FUNCTION weigh_study() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE more bigint := octet_length(NEW.name) + octet_length(NEW.labels) + octet_length(NEW.notes) + octet_length(NEW.rules);
BEGIN
    IF TG_OP = 'UPDATE' THEN
        more := more - octet_length(OLD.name) - octet_length(OLD.labels) - octet_length(OLD.notes) - octet_length(OLD.rules);
    END IF;
    PERFORM add_weight(NEW.id, more);
    RETURN NULL;
END$$;
CREATE TRIGGER study_weighs AFTER INSERT ON study FOR EACH ROW EXECUTE FUNCTION weigh_study();
CREATE TRIGGER study_weighs_anew AFTER UPDATE OF name, labels, notes, rules ON study FOR EACH ROW EXECUTE FUNCTION weigh_study();
CREATE OR REPLACE FUNCTION weigh_spec() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    PERFORM add_weight(NEW.study, octet_length(NEW.spec) - CASE TG_OP WHEN 'UPDATE' THEN octet_length(OLD.spec) ELSE 0 END);
    RETURN NULL;
END$$;
CREATE TRIGGER spec_weighs AFTER INSERT ON study_spec FOR EACH ROW EXECUTE FUNCTION weigh_spec();
CREATE TRIGGER spec_weighs_anew AFTER UPDATE OF spec ON study_spec FOR EACH ROW EXECUTE FUNCTION weigh_spec();
CREATE OR REPLACE FUNCTION weigh_manifest() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM add_weight(NEW.study, octet_length(NEW.manifest));
    ELSE
        PERFORM add_weight(OLD.study, -octet_length(OLD.manifest));
    END IF;
    RETURN NULL;
END$$;
CREATE TRIGGER manifest_weighs AFTER INSERT ON candidates FOR EACH ROW EXECUTE FUNCTION weigh_manifest();
CREATE TRIGGER manifest_weighed AFTER DELETE ON candidates FOR EACH ROW EXECUTE FUNCTION weigh_manifest();
CREATE OR REPLACE FUNCTION weigh_data() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM add_weight(NEW.study, octet_length(NEW.data));
    ELSE
        PERFORM add_weight(OLD.study, -octet_length(OLD.data));
    END IF;
    RETURN NULL;
END$$;
CREATE TRIGGER piece_weighs AFTER INSERT ON candidates_piece FOR EACH ROW EXECUTE FUNCTION weigh_data();
CREATE TRIGGER piece_weighed AFTER DELETE ON candidates_piece FOR EACH ROW EXECUTE FUNCTION weigh_data();
CREATE TRIGGER received_weighs AFTER INSERT ON received_round FOR EACH ROW EXECUTE FUNCTION weigh_data();
CREATE OR REPLACE FUNCTION weigh_source() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    PERFORM add_weight(NEW.study, octet_length(NEW.points) + octet_length(NEW.data));
    RETURN NULL;
END$$;
CREATE TRIGGER source_weighs AFTER INSERT ON transfer_source FOR EACH ROW EXECUTE FUNCTION weigh_source();
CREATE OR REPLACE FUNCTION weigh_operation() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    PERFORM add_weight(NEW.study, coalesce(octet_length(NEW.fixed), 0) + 8 * NEW.count);
    RETURN NULL;
END$$;
CREATE TRIGGER operation_weighs AFTER INSERT ON operation FOR EACH ROW EXECUTE FUNCTION weigh_operation();
CREATE OR REPLACE FUNCTION weigh_measurement() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    PERFORM add_weight(NEW.study, 200 + coalesce(octet_length(NEW.note), 0) + coalesce(octet_length(NEW.outcome), 0));
    RETURN NULL;
END$$;
CREATE TRIGGER measurement_weighs AFTER INSERT ON measurement FOR EACH ROW EXECUTE FUNCTION weigh_measurement();
CREATE OR REPLACE FUNCTION trial_bytes(t trial) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(400, coalesce(octet_length(t.point), 0) + coalesce(octet_length(t.note), 0) +
        coalesce(octet_length(t.diagnostics), 0) + coalesce(octet_length(t.outcome), 0) + coalesce(octet_length(t.asked), 0) +
        2 * coalesce(octet_length(t.reason), 0)) - 400$$;
CREATE OR REPLACE FUNCTION trial_words(t trial) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(coalesce(t.labels, '')) + octet_length(coalesce(t.metadata, '')) + octet_length(coalesce(t.notes, '')) +
        octet_length(coalesce(t.artifacts, ''))::bigint$$;
CREATE OR REPLACE FUNCTION weigh_trial() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE more bigint := trial_bytes(NEW) - CASE TG_OP WHEN 'UPDATE' THEN trial_bytes(OLD) ELSE 0 END;
BEGIN
    IF more <> 0 THEN
        PERFORM add_weight(NEW.study, more);
    END IF;
    RETURN NULL;
END$$;
CREATE OR REPLACE FUNCTION weigh_words() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    PERFORM add_weight(NEW.study, trial_words(NEW) - CASE TG_OP WHEN 'UPDATE' THEN trial_words(OLD) ELSE 0 END);
    RETURN NULL;
END$$;
CREATE TRIGGER trial_weighs AFTER INSERT ON trial FOR EACH ROW WHEN (coalesce(octet_length(NEW.point), 0) +
    coalesce(octet_length(NEW.note), 0) + coalesce(octet_length(NEW.diagnostics), 0) + coalesce(octet_length(NEW.outcome), 0) +
    coalesce(octet_length(NEW.asked), 0) + 2 * coalesce(octet_length(NEW.reason), 0) > 400) EXECUTE FUNCTION weigh_trial();
CREATE TRIGGER trial_weighs_anew AFTER UPDATE OF point, note, diagnostics, outcome, asked, reason ON trial FOR EACH ROW
    WHEN (NEW.point IS DISTINCT FROM OLD.point OR NEW.note IS DISTINCT FROM OLD.note OR
    NEW.diagnostics IS DISTINCT FROM OLD.diagnostics OR NEW.outcome IS DISTINCT FROM OLD.outcome OR
    NEW.asked IS DISTINCT FROM OLD.asked OR NEW.reason IS DISTINCT FROM OLD.reason) EXECUTE FUNCTION weigh_trial();
CREATE TRIGGER words_weigh AFTER INSERT ON trial FOR EACH ROW
    WHEN (coalesce(NEW.labels, NEW.metadata, NEW.notes, NEW.artifacts) IS NOT NULL) EXECUTE FUNCTION weigh_words();
CREATE TRIGGER words_weigh_anew AFTER UPDATE OF labels, metadata, notes, artifacts ON trial FOR EACH ROW
    EXECUTE FUNCTION weigh_words();

-- Counts what must not be forgotten when an older copy of the store comes back.
CREATE OR REPLACE FUNCTION count_witnessed() RETURNS trigger LANGUAGE plpgsql
    AS $$BEGIN UPDATE witness SET counter = counter + 1; RETURN NULL; END$$;
CREATE TRIGGER revoking_is_witnessed AFTER UPDATE OF revoked_ms ON token FOR EACH ROW
    WHEN (OLD.revoked_ms <> NEW.revoked_ms) EXECUTE FUNCTION count_witnessed();
CREATE TRIGGER rotating_is_witnessed AFTER UPDATE OF hash ON token FOR EACH ROW EXECUTE FUNCTION count_witnessed();
CREATE TRIGGER debit_is_witnessed AFTER INSERT ON federation_ledger FOR EACH ROW EXECUTE FUNCTION count_witnessed();
CREATE TRIGGER release_is_witnessed AFTER INSERT ON curator_ledger FOR EACH ROW EXECUTE FUNCTION count_witnessed();
CREATE TRIGGER matrix_is_witnessed AFTER UPDATE OF sha256 ON curator_ledger FOR EACH ROW
    EXECUTE FUNCTION count_witnessed();

-- ---- sums of rows (db/sum.h) ----
-- Every table with a column `sum` has in it a sum of its other columns, and its rows are looked at with row_check, which fails,
-- and row_see, which tells.  As with SQLite they are made for the service alone (gnomon.guard): who writes by hand is noticed.
-- What is told travels as a notice, whose state says what it is: GN005 a row of those that are bound to the log, GN006 whose
-- row is not what was written; GN004 is the failure.
CREATE OR REPLACE FUNCTION sum_of(bytea) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT ('x' || encode(substr(sha256($1), 1, 8), 'hex'))::bit(64)::bigint$$;
CREATE OR REPLACE FUNCTION is_guarded() RETURNS boolean LANGUAGE sql STABLE
    AS $$SELECT coalesce(current_setting('gnomon.guard', true), '') = 'on'$$;
-- The owner is the column that says whose the row is.
CREATE OR REPLACE FUNCTION summed(OUT name text, OUT owner text, OUT columns text[], OUT keys text[]) RETURNS SETOF record
LANGUAGE sql STABLE AS $$
    SELECT t.name, CASE WHEN 'study' = ANY(t.columns) THEN 'study' ELSE t.keys[1] END, t.columns, t.keys FROM (
        SELECT c.relname::text AS name, array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attname <> 'sum') AS
            columns, (SELECT array_agg(k.attname::text ORDER BY o.n) FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS
            o(attnum, n), pg_attribute k WHERE i.indrelid = c.oid AND i.indisprimary AND k.attrelid = c.oid AND
            k.attnum = o.attnum) AS keys
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
        GROUP BY c.oid, c.relname HAVING bool_or(a.attname = 'sum')) t
    ORDER BY t.name COLLATE "C"
$$;
-- 'a.x,a.y' of x and y.
CREATE OR REPLACE FUNCTION list_of(columns text[], prefix text) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$SELECT string_agg(prefix || quote_ident(c), ',' ORDER BY n) FROM unnest(columns) WITH ORDINALITY AS u(c, n)$$;
-- Of a failure, and of what is only told; true: what is told is no reason to leave the row out.
CREATE OR REPLACE FUNCTION refuse_row(owner text) RETURNS boolean LANGUAGE plpgsql STABLE
    AS $$BEGIN RAISE EXCEPTION '%', owner USING ERRCODE = 'GN004'; END$$;
CREATE OR REPLACE FUNCTION tell_row(owner text) RETURNS boolean LANGUAGE plpgsql STABLE
    AS $$BEGIN RAISE INFO '%', owner USING ERRCODE = 'GN006'; RETURN true; END$$;
-- What a row's sum is made of, in words: record_send(ROW(...)) of its other columns.  Where the sum comes last these are the
-- bytes of the whole row without it (its type, its length, 8 bytes) under another number of columns, had in half the time.
-- sent_row: what is sent of the row; sent_sum: what of these bytes is summed.
DROP FUNCTION IF EXISTS summed_bytes(text, text[], text); -- of earlier versions
CREATE OR REPLACE FUNCTION is_sum_last(name text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT attname = 'sum' FROM pg_attribute WHERE attrelid = name::regclass AND attnum > 0 AND NOT attisdropped
        ORDER BY attnum DESC LIMIT 1
$$;
CREATE OR REPLACE FUNCTION sent_row(name text, columns text[], row_name text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format(CASE WHEN is_sum_last(name) THEN 'record_send(%1$s)' ELSE 'record_send(ROW(%2$s))' END, row_name,
        list_of(columns, row_name || '.'))
$$;
CREATE OR REPLACE FUNCTION sent_sum(name text, columns text[], bytes text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN is_sum_last(name) THEN format('int4send(%s) || substr(%2$s, 5, length(%2$s) - 20)', cardinality(columns),
        bytes) ELSE bytes END
$$;
DO $do$
DECLARE t record;
BEGIN
    FOR t IN SELECT * FROM summed() LOOP
        EXECUTE format($f$CREATE OR REPLACE FUNCTION row_sum(%1$I) RETURNS bigint LANGUAGE sql STABLE AS
            $$SELECT sum_of(%2$s)$$$f$, t.name, sent_sum(t.name, t.columns, sent_row(t.name, t.columns, '$1')));
        EXECUTE format($f$CREATE OR REPLACE FUNCTION row_check(%1$I) RETURNS boolean LANGUAGE sql STABLE AS
            $$SELECT CASE WHEN $1.sum <> row_sum($1) THEN refuse_row($1.%2$I::text) ELSE true END$$$f$, t.name, t.owner);
        EXECUTE format($f$CREATE OR REPLACE FUNCTION row_see(%1$I) RETURNS boolean LANGUAGE sql STABLE AS
            $$SELECT CASE WHEN $1.sum <> row_sum($1) THEN tell_row($1.%2$I::text) ELSE true END$$$f$, t.name, t.owner);
        EXECUTE format($f$CREATE OR REPLACE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE old_bytes bytea; new_bytes bytea;
            BEGIN
                IF NOT is_guarded() THEN RETURN NEW; END IF;
                IF TG_OP = 'UPDATE' THEN
                    old_bytes := %2$s;
                    IF OLD.sum <> sum_of(%3$s) THEN RAISE EXCEPTION '%%', OLD.%6$I USING ERRCODE = 'GN004'; END IF;
                END IF;
                new_bytes := %4$s;
                NEW.sum := sum_of(%5$s);
                RETURN NEW;
            END$$$f$, 'sum_' || t.name, sent_row(t.name, t.columns, 'OLD'), sent_sum(t.name, t.columns, 'old_bytes'),
            sent_row(t.name, t.columns, 'NEW'), sent_sum(t.name, t.columns, 'new_bytes'), t.owner);
        EXECUTE format('CREATE TRIGGER row_is_summed BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION %I()',
            t.name, 'sum_' || t.name);
    END LOOP;
END$do$;

-- A notice costs as much as some rows, because PostgreSQL sends each at once: the session keeps so many bytes of digests
-- until it tells them, and the driver asks for the last ones (pg_settle_all).
CREATE OR REPLACE FUNCTION tell_bound(digests text, room integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE held text := coalesce(current_setting('gnomon.bound', true), '') || digests;
BEGIN
    IF length(held) > room THEN
        RAISE INFO '%', held USING ERRCODE = 'GN005';
        held := '';
    END IF;
    PERFORM set_config('gnomon.bound', held, true);
END$$;

-- Rows of this table are bound to the log by these columns; the driver calls it for each (db_postgres_sum.c).
CREATE OR REPLACE FUNCTION bind_table(name text, columns text[]) RETURNS void LANGUAGE plpgsql AS $do$
BEGIN
    EXECUTE format($f$CREATE OR REPLACE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE was text := ''; is_now text := '';
        BEGIN
            IF NOT is_guarded() THEN RETURN NULL; END IF;
            IF TG_OP <> 'INSERT' THEN was := encode(sha256(record_send(ROW(%2$L::text, %3$s))), 'hex'); END IF;
            IF TG_OP <> 'DELETE' THEN is_now := encode(sha256(record_send(ROW(%2$L::text, %4$s))), 'hex'); END IF;
            IF was = is_now THEN RETURN NULL; END IF;
            PERFORM tell_bound(CASE WHEN TG_OP = 'INSERT' THEN '+' || is_now WHEN TG_OP = 'DELETE' THEN '-' || was
                ELSE '-' || was || '+' || is_now END, 1000);
            RETURN NULL;
        END$$$f$, 'bind_' || name, name, list_of(columns, 'OLD.'), list_of(columns, 'NEW.'));
    EXECUTE format('CREATE TRIGGER row_is_bound AFTER INSERT OR DELETE OR UPDATE OF %s ON %I FOR EACH ROW EXECUTE FUNCTION '
        '%I()', list_of(columns, ''), name, 'bind_' || name);
END$do$;

-- Says which rows are not what was written; of an owner's, or of all (NULL).
CREATE OR REPLACE FUNCTION damaged_rows(wanted text) RETURNS SETOF text LANGUAGE plpgsql AS $do$
DECLARE t record;
BEGIN
    FOR t IN SELECT * FROM summed() LOOP
        RETURN QUERY EXECUTE format($f$SELECT 'the row ' || concat_ws(' ', %s) || ' of %s is not what was written' FROM %I r
            WHERE r.sum <> row_sum(r) AND ($1 IS NULL OR r.%I::text = $1)$f$, list_of(t.keys, 'r.'), t.name, t.name, t.owner)
            USING wanted;
    END LOOP;
END$do$;

-- The rows of a table behind a place in it ('': from its first on), each with its place.
CREATE OR REPLACE FUNCTION scan_rows(wanted text, after text, rows_max bigint) RETURNS
    TABLE(place text, owner text, is_good boolean) LANGUAGE plpgsql AS $do$
DECLARE t record;
BEGIN
    SELECT * INTO t FROM summed() s WHERE s.name = wanted;
    RETURN QUERY EXECUTE format('SELECT concat_ws('','', %s), r.%I::text, r.sum = row_sum(r) FROM %I r %s ORDER BY %s LIMIT %s',
        (SELECT string_agg(format('quote_nullable(r.%I)', k), ',' ORDER BY n) FROM unnest(t.keys) WITH ORDINALITY u(k, n)),
        t.owner, t.name, CASE WHEN after <> '' THEN format('WHERE (%s) > (%s)', list_of(t.keys, 'r.'), after) ELSE '' END,
        list_of(t.keys, 'r.'), rows_max);
END$do$;

-- Makes the sums of all rows anew.
CREATE OR REPLACE FUNCTION sum_rows() RETURNS void LANGUAGE plpgsql AS $do$
DECLARE t record;
BEGIN
    FOR t IN SELECT * FROM summed() LOOP
        EXECUTE format('UPDATE %I r SET sum = row_sum(r)', t.name);
    END LOOP;
END$do$;
