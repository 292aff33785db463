-- SPDX-License-Identifier: Apache-2.0
-- Reports, their items, and the newest run of each profile of a host.

-- boot_find: find boot
-- in: node int, boot_id text
-- out: id int
SELECT id FROM boots WHERE node = :node AND boot_id = :boot_id;

-- boot_add: add boot
-- in: node int, boot_id text, first_us uint
-- gives: id
INSERT INTO boots (node, boot_id, first_us) VALUES (:node, :boot_id, :first_us);

-- report_find: find report
-- in: boot int, seq uint
-- out: one int
SELECT 1 FROM reports WHERE boot = :boot AND seq = :seq;

-- report_add: add report
-- in: boot int, seq uint, node int, seen_us uint, time text, profile text, verdict int
-- in: sentence text, coding int, body bytes
-- gives: id
INSERT INTO reports (boot, seq, node, seen_us, time, profile, verdict, sentence, coding, body)
VALUES (:boot, :seq, :node, :seen_us, :time, :profile, :verdict, :sentence, :coding, :body);

-- item_add: add item
-- in: report int, nth uint, node int, check_name text, subject text, level int, value real
-- in: unit text, expected real, floor real, source int, n uint, fatal int, sentence text
-- in: link text, facts int
INSERT INTO items (report, nth, node, check_name, subject, level, value, unit, expected, floor,
 source, n, fatal, sentence, link, facts)
VALUES (:report, :nth, :node, :check_name, :subject, :level, :value, :unit, :expected, :floor,
 :source, :n, :fatal, :sentence, :link, :facts);

-- items: read items
-- in: report int
-- out: check_name text, subject text, level int, value real, unit text, expected real, floor real
-- out: source int, n uint, fatal int, sentence text, link text, facts int
SELECT check_name, subject, level, value, unit, expected, floor, source, n, fatal, sentence, link,
 facts FROM items WHERE report = :report ORDER BY nth;

-- run_put: keep run
-- in: node int, profile text, report int, time text, verdict int, measured text, kept text
INSERT OR REPLACE INTO runs (node, profile, report, time, verdict, measured, kept)
VALUES (:node, :profile, :report, :time, :verdict, :measured, :kept);

-- runs: read runs
-- in: node text, limit uint
-- out: profile text, time text, verdict int, measured text, report int, kept text
SELECT r.profile, r.time, r.verdict, r.measured, r.report, r.kept FROM runs r, nodes n
 WHERE n.node = :node AND r.node = n.id ORDER BY r.report DESC LIMIT :limit;

-- run_before: find runs
-- in: node text, profile text
-- out: one int
SELECT 1 FROM reports r JOIN nodes n ON n.id = r.node WHERE n.node = :node
 AND r.profile = :profile LIMIT 1 OFFSET 1;

-- reports: read list
-- in: node text, before int, limit uint
-- out: id int, boot_id text, seq uint, time text, seen_us uint, profile text, verdict int
-- out: sentence text
SELECT r.id, b.boot_id, r.seq, r.time, r.seen_us, r.profile, r.verdict, r.sentence
 FROM reports r JOIN nodes n ON n.id = r.node LEFT JOIN boots b ON b.id = r.boot
 WHERE n.node = :node AND r.id < :before ORDER BY r.id DESC LIMIT :limit;

-- bad_reports: read list
-- in: node text, check_name text, subject text, within uint, limit uint
-- out: id int, boot_id text, seq uint, time text, seen_us uint, profile text, level int
-- out: value real
SELECT r.id, b.boot_id, r.seq, r.time, r.seen_us, r.profile, i.level, i.value FROM
 (SELECT id, boot, seq, time, seen_us, profile FROM reports
  WHERE node = (SELECT id FROM nodes WHERE node = :node) ORDER BY id DESC LIMIT :within) r
 JOIN items i ON i.report = r.id LEFT JOIN boots b ON b.id = r.boot
 WHERE i.check_name = :check_name AND i.subject = :subject ORDER BY r.id DESC LIMIT :limit;

-- bodies: read bodies
-- in: node text, limit uint
-- out: coding int, body bytes
SELECT p.coding, p.body FROM runs r JOIN nodes n ON n.id = r.node
 JOIN reports p ON p.id = r.report WHERE n.node = :node ORDER BY r.report DESC LIMIT :limit;

-- series_reports: read reports
-- in: node text, before int, since_us uint, limit uint
-- out: id int, seen_us uint, coding int, body bytes
SELECT r.id, r.seen_us, r.coding, r.body FROM reports r
 WHERE r.node = (SELECT id FROM nodes WHERE node = :node) AND r.id < :before
 AND r.seen_us >= :since_us ORDER BY r.id DESC LIMIT :limit;

-- series_items: read items
-- in: report int, check_name text
-- out: subject text, level int, expected real, floor real
SELECT subject, level, expected, floor FROM items WHERE report = :report
 AND check_name = :check_name ORDER BY nth;

-- past: read the past
-- in: after int, window int, since_us uint, limit uint
-- out: id int, node text, sku text, profile text, seen_us uint, verdict int
SELECT r.id, n.node, n.sku, r.profile, r.seen_us, r.verdict FROM reports r
 JOIN nodes n ON n.id = r.node WHERE r.id > :after AND r.id <= :after + :window
 AND r.seen_us >= :since_us ORDER BY r.id LIMIT :limit;

-- past_last: find the last report
-- out: id int
SELECT coalesce(max(id), 0) FROM reports;
