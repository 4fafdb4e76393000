-- Who made a study, cloned or imported it here: the token's id, and its name, which stay when the token goes.  Of those that
-- there are the log says it: the first that was not elsewhere, since results are imported later.  Of others it is not known.
ALTER TABLE study ADD COLUMN created_by TEXT;
ALTER TABLE study ADD COLUMN owner TEXT;
UPDATE study SET created_by = (SELECT e.actor FROM event e WHERE e.study = study.id AND
    e.kind IN ('study.created', 'study.imported') AND substr(e.actor, 1, 10) <> 'elsewhere:' ORDER BY e.seq LIMIT 1);
UPDATE study SET owner = coalesce((SELECT name FROM token WHERE token.id = study.created_by),
    CASE WHEN created_by = 'local' THEN 'local' END);
