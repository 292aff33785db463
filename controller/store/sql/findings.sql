-- SPDX-License-Identifier: Apache-2.0
-- Windows and incidents: what the last runs of a host have added up to.

-- windows: read windows
-- in: node text, limit uint
-- out: check_name text, subject text, bits uint, seen uint, k uint, n uint, since_us uint
-- out: last_us uint, severity int, source int, born int, parts_bad uint, parts uint, score real
-- out: class text, code text, sentence text
SELECT check_name, subject, bits, seen, k, n, since_us, last_us, severity, source, born, parts_bad,
 parts, score, class, code, sentence FROM windows WHERE node = :node LIMIT :limit;

-- window_put: keep window
-- in: node text, check_name text, subject text, bits uint, seen uint, k uint, n uint
-- in: since_us uint, last_us uint, severity int, source int, born int, parts_bad uint, parts uint
-- in: score real, class text, code text, sentence text
INSERT OR REPLACE INTO windows (node, check_name, subject, bits, seen, k, n, since_us, last_us,
 severity, source, born, parts_bad, parts, score, class, code, sentence)
VALUES (:node, :check_name, :subject, :bits, :seen, :k, :n, :since_us, :last_us, :severity,
 :source, :born, :parts_bad, :parts, :score, :class, :code, :sentence);

-- window_drop: drop window
-- in: node text, check_name text, subject text
DELETE FROM windows WHERE node = :node AND check_name = :check_name AND subject = :subject;

-- windows_drop: forget host
-- in: node text
DELETE FROM windows WHERE node = :node;

-- All but that of the report that has just come.
-- runs_drop: forget host
-- in: node text
DELETE FROM runs WHERE node = (SELECT id FROM nodes WHERE node = :node)
 AND report < (SELECT max(r.report) FROM runs r, nodes n
  WHERE n.node = :node AND r.node = n.id);

-- runs_drop_all: forget host
-- in: node text
DELETE FROM runs WHERE node = (SELECT id FROM nodes WHERE node = :node);

-- incident_update: update incident
-- in: node text, check_name text, subject text, level int, fatal int, rule text, action text
-- in: sentence text, now_us uint, parts text
-- gives: changes
UPDATE incidents SET parts = CASE WHEN subject = :subject AND parts IS NOT NULL THEN parts ELSE :parts END,
 subject = :subject, level = :level, fatal = :fatal, rule = :rule,
 action = :action, sentence = :sentence, last_us = :now_us
 WHERE node = :node AND check_name = :check_name AND closed_us IS NULL;

-- incident_add: open incident
-- in: node text, check_name text, subject text, level int, fatal int, rule text, action text
-- in: sentence text, now_us uint, since_us uint, parts text
INSERT INTO incidents (node, check_name, subject, level, fatal, rule, action, sentence, opened_us,
 last_us, since_us, parts)
VALUES (:node, :check_name, :subject, :level, :fatal, :rule, :action, :sentence, :now_us, :now_us,
 :since_us, :parts);

-- incident_close: close incident
-- in: node text, check_name text, now_us uint
UPDATE incidents SET closed_us = :now_us WHERE node = :node AND check_name = :check_name
 AND closed_us IS NULL;

-- incidents_of_check: read incidents
-- in: check_name text
-- out: node text
SELECT node FROM incidents WHERE check_name = :check_name AND closed_us IS NULL;

-- incidents_close: forget host
-- in: node text, now_us uint
UPDATE incidents SET closed_us = :now_us WHERE node = :node AND closed_us IS NULL;

-- part INCIDENT
SELECT id, node, check_name, subject, level, fatal, rule, action, sentence, opened_us, last_us,
 closed_us, parts FROM incidents;

-- incidents: read list
-- in: before int, open_only int, limit uint
-- out: id int, node text, check_name text, subject text, level int, fatal int, rule text
-- out: action text, sentence text, opened_us uint, last_us uint, closed_us uint?
-- out: parts text
{INCIDENT} WHERE id < :before AND (:open_only = 0 OR closed_us IS NULL)
 ORDER BY id DESC LIMIT :limit;

-- incidents_of_node: read list
-- in: node text
-- out: as incidents
{INCIDENT} WHERE node = :node AND closed_us IS NULL ORDER BY id;

-- incident: read incident
-- in: id int
-- out: as incidents
{INCIDENT} WHERE id = :id;

-- incidents_by_kind: count incidents
-- out: check_name text, action text, n uint
SELECT check_name, action, count(*) FROM incidents WHERE closed_us IS NULL
 GROUP BY check_name, action;
