-- SPDX-License-Identifier: Apache-2.0
-- Rows out: what retention lets go. `limit` rows are looked at in one go.

-- thin_reports: read reports
-- length() of a body reads none of it.
-- in: after int, limit uint
-- out: id int, node int, seen_us uint, profile text, verdict int, bytes uint
SELECT id, node, seen_us, profile, verdict, length(body) FROM reports WHERE id > :after
 ORDER BY id LIMIT :limit;

-- thin_newest: thin
-- in: node int, report int
-- out: one int
SELECT 1 FROM runs WHERE node = :node AND report = :report;

-- thin_evidence: thin
-- in: node int, report int, seen_us uint
-- out: one int
SELECT 1 FROM nodes n CROSS JOIN incidents i ON i.node = n.node AND i.closed_us IS NULL
 JOIN items t ON t.report = :report AND t.check_name = i.check_name
 WHERE n.id = :node AND :seen_us BETWEEN i.since_us AND i.opened_us;

-- thin_body: thin
-- in: report int
UPDATE reports SET body = NULL WHERE id = :report;

-- thin_items: thin
-- in: report int, nth uint
DELETE FROM items WHERE report = :report AND nth >= :nth;

-- thin_report: thin
-- in: report int
DELETE FROM reports WHERE id = :report;

-- thin_boots: read old rows
-- in: after int, limit uint, before_us uint
-- out: id int, old int
SELECT b.id, b.first_us < :before_us AND NOT EXISTS (SELECT 1 FROM reports WHERE boot = b.id)
 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = b.node AND n.boot = b.id) FROM boots b
 WHERE b.id > :after ORDER BY b.id LIMIT :limit;

-- thin_boot: thin
-- in: id int
DELETE FROM boots WHERE id = :id;

-- thin_incidents: read old rows
-- in: after int, limit uint, before_us uint, kept uint, kept_of_node uint
-- out: as thin_boots
SELECT id, closed_us < :before_us OR (closed_us IS NOT NULL
 AND (id <= (SELECT max(id) FROM incidents) - :kept
  OR EXISTS (SELECT 1 FROM incidents j WHERE j.node = i.node AND j.id > i.id
   LIMIT 1 OFFSET :kept_of_node)))
 FROM incidents i WHERE id > :after ORDER BY id LIMIT :limit;

-- thin_incident: thin
-- in: id int
DELETE FROM incidents WHERE id = :id;

-- thin_nodes: read old rows
-- in: after int, limit uint, before_us uint
-- out: as thin_boots
SELECT id, seen_us < :before_us FROM nodes WHERE id > :after ORDER BY id LIMIT :limit;

-- thin_node: thin
-- in: id int
DELETE FROM nodes WHERE id = :id;

-- thin_runs: thin runs
-- in: node int, kept uint
DELETE FROM runs WHERE node = :node AND report NOT IN (SELECT report FROM runs
 WHERE node = :node ORDER BY report DESC LIMIT :kept);

-- thin_windows: thin windows
-- in: node text, before_us uint
DELETE FROM windows WHERE node = :node AND last_us < :before_us;

-- thin_close: close incidents
-- in: node text, before_us uint, now_us uint
UPDATE incidents SET closed_us = :now_us WHERE node = :node AND closed_us IS NULL
 AND last_us < :before_us;

-- node_name: read host
-- in: id int
-- out: node text
SELECT node FROM nodes WHERE id = :id;

-- node_reports: read reports
-- in: node int, limit uint
-- out: id int
SELECT id FROM reports WHERE node = :node ORDER BY id LIMIT :limit;

-- node_boots: thin
-- in: node int
DELETE FROM boots WHERE node = :node;
