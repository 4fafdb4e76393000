-- What was measured of a running trial where there are several metrics: the value of each that is modelled, as doubles.  value is
-- still that of the first objective.  NULL: there is one metric.
ALTER TABLE measurement ADD COLUMN outcome BLOB;
-- Whatever is kept of a study, a federation or a game counts against the bytes of its project, by the length in bytes of its columns;
-- the suite schema knows each column that weighs nothing.  Of rows from before, characters are counted.
DROP TRIGGER study_is_recounted;
DROP TRIGGER federation_is_counted;
DROP TRIGGER federation_is_discounted;
DROP TRIGGER game_is_counted;
DROP TRIGGER game_is_discounted;
DROP TRIGGER spec_weighs;
DROP TRIGGER measurement_weighs;
DROP TRIGGER trial_weighs;
DROP TRIGGER words_weigh;
UPDATE project SET used_extra = used_extra - (SELECT coalesce(sum(extra_bytes), 0) FROM study WHERE study.project = project.id);
UPDATE study SET extra_bytes = extra_bytes + length(name) + length(labels) + length(notes) + length(rules) +
    coalesce((SELECT length(manifest) FROM candidates WHERE candidates.study = study.id), 0) +
    coalesce((SELECT sum(length(data)) FROM received_round WHERE received_round.study = study.id), 0) +
    coalesce((SELECT sum(coalesce(length(fixed), 0) + 8 * count) FROM operation WHERE operation.study = study.id), 0) +
    coalesce((SELECT sum(coalesce(length(note), 0) + coalesce(length(outcome), 0)) FROM measurement
        WHERE measurement.study = study.id), 0);
UPDATE study SET extra_bytes = extra_bytes + coalesce((SELECT sum(CASE WHEN more + kept > 400 AND kept > 400 THEN more
    WHEN more + kept > 400 THEN more + kept - 400 ELSE 0 END) FROM (SELECT coalesce(length(point), 0) AS kept,
        coalesce(length(note), 0) + coalesce(length(diagnostics), 0) + coalesce(length(outcome), 0) + coalesce(length(asked), 0) +
        2 * coalesce(length(reason), 0) AS more FROM trial WHERE trial.study = study.id) AS t), 0);
UPDATE project SET used_extra = used_extra + (SELECT coalesce(sum(extra_bytes), 0) FROM study WHERE study.project = project.id) +
    (SELECT coalesce(sum(500 + length(spec)), 0) FROM federation WHERE federation.project = project.id) +
    (SELECT coalesce(sum(100 + length(data)), 0) FROM federation_message m JOIN federation f ON f.id = m.federation
        WHERE f.project = project.id) +
    (SELECT coalesce(sum(100 + length(data)), 0) FROM federation_broadcast b JOIN federation f ON f.id = b.federation
        WHERE f.project = project.id) +
    (SELECT coalesce(sum(500 + length(spec)), 0) FROM game WHERE game.project = project.id) +
    (SELECT coalesce(sum(400 + coalesce(length(point), 0)), 0) FROM game_play p JOIN game g ON g.id = p.game
        WHERE g.project = project.id);
CREATE TRIGGER study_is_recounted AFTER UPDATE OF total, extra_bytes ON study
    WHEN NEW.total <> OLD.total OR NEW.extra_bytes <> OLD.extra_bytes BEGIN
    UPDATE project SET used_trials = used_trials + NEW.total - OLD.total,
        used_extra = used_extra + NEW.extra_bytes - OLD.extra_bytes WHERE id = NEW.project;
END;
CREATE TRIGGER study_weighs AFTER INSERT ON study BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(NEW.name AS BLOB)) + length(CAST(NEW.labels AS BLOB)) +
        length(CAST(NEW.notes AS BLOB)) + length(CAST(NEW.rules AS BLOB)) WHERE id = NEW.id;
END;
CREATE TRIGGER study_weighs_anew AFTER UPDATE OF name, labels, notes, rules ON study BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(NEW.name AS BLOB)) - length(CAST(OLD.name AS BLOB)) +
        length(CAST(NEW.labels AS BLOB)) - length(CAST(OLD.labels AS BLOB)) + length(CAST(NEW.notes AS BLOB)) -
        length(CAST(OLD.notes AS BLOB)) + length(CAST(NEW.rules AS BLOB)) - length(CAST(OLD.rules AS BLOB)) WHERE id = NEW.id;
END;
CREATE TRIGGER spec_weighs AFTER INSERT ON study_spec BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(NEW.spec AS BLOB)) WHERE id = NEW.study;
END;
CREATE TRIGGER spec_weighs_anew AFTER UPDATE OF spec ON study_spec BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(NEW.spec AS BLOB)) - length(CAST(OLD.spec AS BLOB)) WHERE id = NEW.study;
END;
CREATE TRIGGER manifest_weighs AFTER INSERT ON candidates BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(NEW.manifest AS BLOB)) WHERE id = NEW.study;
END;
CREATE TRIGGER manifest_weighed AFTER DELETE ON candidates BEGIN
    UPDATE study SET extra_bytes = extra_bytes - length(CAST(OLD.manifest AS BLOB)) WHERE id = OLD.study;
END;
CREATE TRIGGER operation_weighs AFTER INSERT ON operation BEGIN
    UPDATE study SET extra_bytes = extra_bytes + coalesce(length(NEW.fixed), 0) + 8 * NEW.count WHERE id = NEW.study;
END;
CREATE TRIGGER received_weighs AFTER INSERT ON received_round BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(NEW.data) WHERE id = NEW.study;
END;
CREATE TRIGGER measurement_weighs AFTER INSERT ON measurement BEGIN
    UPDATE study SET extra_bytes = extra_bytes + 200 + coalesce(length(NEW.note), 0) + coalesce(length(NEW.outcome), 0)
        WHERE id = NEW.study;
END;
-- 400 bytes of a trial are in what every trial stands for (TRIAL_BYTES of service/app/quota.c); a line of the log has its reason, too.
CREATE TRIGGER trial_weighs AFTER INSERT ON trial WHEN coalesce(length(NEW.point), 0) + coalesce(length(NEW.note), 0) +
    coalesce(length(NEW.diagnostics), 0) + coalesce(length(NEW.outcome), 0) + coalesce(length(NEW.asked), 0) +
    2 * coalesce(length(CAST(NEW.reason AS BLOB)), 0) > 400 BEGIN
    UPDATE study SET extra_bytes = extra_bytes + coalesce(length(NEW.point), 0) + coalesce(length(NEW.note), 0) +
        coalesce(length(NEW.diagnostics), 0) + coalesce(length(NEW.outcome), 0) + coalesce(length(NEW.asked), 0) +
        2 * coalesce(length(CAST(NEW.reason AS BLOB)), 0) - 400 WHERE id = NEW.study;
END;
CREATE TRIGGER trial_weighs_anew AFTER UPDATE OF point, note, diagnostics, outcome, asked, reason ON trial WHEN
    max(400, coalesce(length(NEW.point), 0) + coalesce(length(NEW.note), 0) +
        coalesce(length(NEW.diagnostics), 0) + coalesce(length(NEW.outcome), 0) + coalesce(length(NEW.asked), 0) +
        2 * coalesce(length(CAST(NEW.reason AS BLOB)), 0)) <>
    max(400, coalesce(length(OLD.point), 0) + coalesce(length(OLD.note), 0) +
        coalesce(length(OLD.diagnostics), 0) + coalesce(length(OLD.outcome), 0) + coalesce(length(OLD.asked), 0) +
        2 * coalesce(length(CAST(OLD.reason AS BLOB)), 0)) BEGIN
    UPDATE study SET extra_bytes = extra_bytes + max(400, coalesce(length(NEW.point), 0) + coalesce(length(NEW.note), 0) +
        coalesce(length(NEW.diagnostics), 0) + coalesce(length(NEW.outcome), 0) + coalesce(length(NEW.asked), 0) +
        2 * coalesce(length(CAST(NEW.reason AS BLOB)), 0)) -
        max(400, coalesce(length(OLD.point), 0) + coalesce(length(OLD.note), 0) +
        coalesce(length(OLD.diagnostics), 0) + coalesce(length(OLD.outcome), 0) + coalesce(length(OLD.asked), 0) +
        2 * coalesce(length(CAST(OLD.reason AS BLOB)), 0)) WHERE id = NEW.study;
END;
CREATE TRIGGER words_weigh AFTER INSERT ON trial WHEN coalesce(NEW.labels, NEW.metadata, NEW.notes, NEW.artifacts) IS NOT NULL BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(coalesce(NEW.labels, '') AS BLOB)) +
        length(CAST(coalesce(NEW.metadata, '') AS BLOB)) + length(CAST(coalesce(NEW.notes, '') AS BLOB)) +
        length(CAST(coalesce(NEW.artifacts, '') AS BLOB)) WHERE id = NEW.study;
END;
CREATE TRIGGER words_weigh_anew AFTER UPDATE OF labels, metadata, notes, artifacts ON trial BEGIN
    UPDATE study SET extra_bytes = extra_bytes + length(CAST(coalesce(NEW.labels, '') AS BLOB)) -
        length(CAST(coalesce(OLD.labels, '') AS BLOB)) + length(CAST(coalesce(NEW.metadata, '') AS BLOB)) -
        length(CAST(coalesce(OLD.metadata, '') AS BLOB)) + length(CAST(coalesce(NEW.notes, '') AS BLOB)) -
        length(CAST(coalesce(OLD.notes, '') AS BLOB)) + length(CAST(coalesce(NEW.artifacts, '') AS BLOB)) -
        length(CAST(coalesce(OLD.artifacts, '') AS BLOB)) WHERE id = NEW.study;
END;
-- What a federation or a game has goes with it: the triggers of what refers to it find it no more, so it is told before.
CREATE TRIGGER federation_is_counted AFTER INSERT ON federation BEGIN
    UPDATE project SET used_studies = used_studies + 1,
        used_extra = used_extra + 500 + length(CAST(NEW.spec AS BLOB)) + length(NEW.features) WHERE id = NEW.project;
END;
CREATE TRIGGER federation_is_discounted BEFORE DELETE ON federation BEGIN
    UPDATE project SET used_studies = used_studies - 1,
        used_extra = used_extra - 500 - length(CAST(OLD.spec AS BLOB)) - length(OLD.features) -
        (SELECT coalesce(sum(100 + length(data)), 0) FROM federation_message WHERE federation = OLD.id) -
        (SELECT coalesce(sum(100 + length(data)), 0) FROM federation_broadcast WHERE federation = OLD.id) WHERE id = OLD.project;
END;
CREATE TRIGGER message_weighs AFTER INSERT ON federation_message BEGIN
    UPDATE project SET used_extra = used_extra + 100 + length(NEW.data)
        WHERE id = (SELECT project FROM federation WHERE federation.id = NEW.federation);
END;
CREATE TRIGGER message_weighed AFTER DELETE ON federation_message BEGIN
    UPDATE project SET used_extra = used_extra - 100 - length(OLD.data)
        WHERE id = (SELECT project FROM federation WHERE federation.id = OLD.federation);
END;
CREATE TRIGGER broadcast_weighs AFTER INSERT ON federation_broadcast BEGIN
    UPDATE project SET used_extra = used_extra + 100 + length(NEW.data)
        WHERE id = (SELECT project FROM federation WHERE federation.id = NEW.federation);
END;
CREATE TRIGGER game_is_counted AFTER INSERT ON game BEGIN
    UPDATE project SET used_studies = used_studies + 1, used_extra = used_extra + 500 + length(CAST(NEW.spec AS BLOB))
        WHERE id = NEW.project;
END;
CREATE TRIGGER game_is_discounted BEFORE DELETE ON game BEGIN
    UPDATE project SET used_studies = used_studies - 1, used_extra = used_extra - 500 - length(CAST(OLD.spec AS BLOB)) -
        (SELECT coalesce(sum(400 + coalesce(length(point), 0)), 0) FROM game_play WHERE game = OLD.id) WHERE id = OLD.project;
END;
CREATE TRIGGER play_weighs AFTER INSERT ON game_play BEGIN
    UPDATE project SET used_extra = used_extra + 400 + coalesce(length(NEW.point), 0)
        WHERE id = (SELECT project FROM game WHERE game.id = NEW.game);
END;
