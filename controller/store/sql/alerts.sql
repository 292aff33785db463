-- SPDX-License-Identifier: Apache-2.0
-- What operators are told of, and what of it Alertmanagers may have.

-- alert_put: keep alert
-- in: alertmanager text, labels text, sentence text, since_us uint, ended int
INSERT OR REPLACE INTO alerts (alertmanager, labels, sentence, since_us, ended)
VALUES (:alertmanager, :labels, :sentence, :since_us, :ended);

-- alert_drop: drop alert
-- in: alertmanager text, labels text
DELETE FROM alerts WHERE alertmanager = :alertmanager AND labels = :labels;

-- alerts: read alerts
-- out: alertmanager text, labels text, sentence text, since_us uint, ended int
SELECT alertmanager, labels, sentence, since_us, ended FROM alerts;

-- incidents_to_tell: read incidents
-- Open ones that ask for more than to be observed, the oldest first; when the host was heard of last
-- (0: it is no host), and the last runs of what is bad.
-- in: limit uint
-- out: id int, node text, check_name text, fatal int, action text, sentence text, opened_us uint
-- out: seen_us uint, bits uint, seen uint, n uint
SELECT i.id, i.node, i.check_name, i.fatal, i.action, i.sentence, i.opened_us, coalesce(n.seen_us, 0) AS seen_us,
 coalesce(w.bits, 0) AS bits, coalesce(w.seen, 0) AS seen, coalesce(w.n, 0) AS n
 FROM incidents i INDEXED BY incidents_open LEFT JOIN nodes n ON n.node = i.node
 LEFT JOIN windows w ON w.node = i.node AND w.check_name = i.check_name AND w.subject = i.subject
 WHERE i.closed_us IS NULL AND i.action <> 'observe' ORDER BY i.id LIMIT :limit;

-- jobs_to_tell: read jobs
-- Those that some window of theirs is analysed of and that were heard of since.
-- in: since_us uint
-- out: id int, name text, last_us uint, state text, slowdown real, suspect text, sentence text
SELECT id, name, last_us, json_extract(shown, '$.state') AS state, json_extract(shown, '$.slowdown') AS slowdown,
 json_extract(shown, '$.suspect') AS suspect, json_extract(shown, '$.sentence') AS sentence
 FROM jobs WHERE last_us > :since_us AND json_type(shown, '$.slowdown') IN ('real', 'integer') ORDER BY id;
