-- SPDX-License-Identifier: Apache-2.0
-- Hosts, and what is said of them.

-- What is said of a host `n` is the worst of two: what its own runs add up to, and an open incident
-- of tests with others, which no run of its own can find or end (controller/actions/paired.c
-- says their subjects). Of enum verdict_level a higher one is worse. Joined as it is read, here
-- alone, so it ends when the incident does, however that ends.
-- part OTHERS_LEVEL
(SELECT i.level FROM incidents i WHERE i.node = n.node AND i.closed_us IS NULL
 AND (i.subject = 'fabric' OR i.subject GLOB 'rail:[0-9]') ORDER BY i.level DESC LIMIT 1);
-- part OTHERS_SENTENCE
(SELECT CASE i.level WHEN 3 THEN 'fail: ' WHEN 2 THEN 'warn: ' ELSE '' END || i.sentence
 FROM incidents i WHERE i.node = n.node AND i.closed_us IS NULL
 AND (i.subject = 'fabric' OR i.subject GLOB 'rail:[0-9]') ORDER BY i.level DESC LIMIT 1);
-- part NODE_LEVEL
max(n.verdict, coalesce({OTHERS_LEVEL}, 0));
-- It joined, and has not passed a test since (store_joins.h). One that was reset is nobody until it has joined again.
-- part UNVERIFIED
EXISTS (SELECT 1 FROM joined j WHERE j.node = n.node AND j.sha256 IS NOT NULL AND j.verified_us IS NULL);
-- part NODE
SELECT n.node, {NODE_LEVEL},
 CASE WHEN coalesce({OTHERS_LEVEL}, 0) > n.verdict THEN {OTHERS_SENTENCE} ELSE n.sentence END,
 n.sku, n.profile, n.time, n.agent, b.boot_id, n.seen_us, n.seq, n.first_us, n.topology, n.env, {UNVERIFIED}
 FROM nodes n LEFT JOIN boots b ON b.id = n.boot;

-- node_find: find host
-- in: node text
-- out: id int, boot int, seq uint
SELECT id, boot, seq FROM nodes WHERE node = :node;

-- node_add: add host
-- in: node text, seen_us uint
-- gives: id
INSERT INTO nodes (node, boot, seq, first_us, seen_us, verdict)
VALUES (:node, 0, 0, :seen_us, :seen_us, 1);

-- node_update: update host
-- in: id int, boot int, seq uint, time text, seen_us uint, profile text, agent text, sku text
-- in: topology text, env text, verdict int, sentence text
UPDATE nodes SET boot = :boot, seq = :seq, time = :time, seen_us = :seen_us, profile = :profile,
 agent = :agent, sku = :sku, topology = :topology, env = :env, verdict = :verdict,
 sentence = :sentence WHERE id = :id;

-- node_restate: restate host
-- in: node text, verdict int, sentence text
UPDATE nodes SET verdict = :verdict, sentence = :sentence WHERE node = :node;

-- nodes: read list
-- in: after text, limit uint
-- out: node text, verdict int, sentence text, sku text, profile text, time text, agent text
-- out: boot_id text, seen_us uint, seq uint, first_us uint, topology text, env text, unverified int
{NODE} WHERE n.node > :after ORDER BY n.node LIMIT :limit;

-- node: read host
-- in: node text
-- out: as nodes
{NODE} WHERE n.node = :node;

-- count_nodes: count hosts
-- out: n uint
SELECT count(*) FROM nodes;

-- count_verdicts: count verdicts
-- in: since_us int, until_us int
-- out: verdict int, n uint
SELECT CASE WHEN n.seen_us BETWEEN :since_us AND :until_us THEN {NODE_LEVEL} ELSE 1 END AS now,
 count(*) FROM nodes n GROUP BY now;

-- hosts_brief: read list
-- in: after text, limit uint
-- out: node text, sku text, verdict int, seen_us uint
SELECT n.node, n.sku, {NODE_LEVEL}, n.seen_us FROM nodes n WHERE n.node > :after
 ORDER BY n.node LIMIT :limit;

-- What a map of the fleet shows of a host.
-- part HOST_SHOWN
SELECT n.node, n.sku, {NODE_LEVEL}, n.seen_us,
 (SELECT count(*) FROM incidents i WHERE i.node = n.node AND i.closed_us IS NULL) FROM nodes n;

-- hosts_shown: read list
-- in: after text, limit uint
-- out: node text, sku text, verdict int, seen_us uint, open uint
{HOST_SHOWN} WHERE n.node > :after ORDER BY n.node LIMIT :limit;

-- host_shown: read host
-- in: id int
-- out: as hosts_shown
{HOST_SHOWN} WHERE n.id = :id;

-- host_of_incident_shown: read host
-- in: id int
-- out: as hosts_shown
{HOST_SHOWN} WHERE n.node = (SELECT c.node FROM incidents c WHERE c.id = :id);

-- host_sentence: read host
-- in: node text
-- out: sentence text
SELECT CASE WHEN coalesce({OTHERS_LEVEL}, 0) > n.verdict THEN {OTHERS_SENTENCE} ELSE n.sentence END
 FROM nodes n WHERE n.node = :node;

-- envs: read list
-- in: since_us int, until_us int, after text, limit uint
-- out: node text, sku text, env text
SELECT node, sku, env FROM nodes WHERE node > :after AND seen_us BETWEEN :since_us AND :until_us
 ORDER BY node LIMIT :limit;

-- nodes_brief: read hosts
-- out: node text, sku text, seen_us uint, verdict int, topology text, first_us uint, deep_us uint?, unverified int
SELECT n.node, n.sku, n.seen_us, n.verdict, n.topology, n.first_us,
 (SELECT p.seen_us FROM runs r JOIN reports p ON p.id = r.report
  WHERE r.node = n.id AND r.profile = 'full'), {UNVERIFIED} FROM nodes n ORDER BY n.node;

-- node_whole: find the last test
-- in: node text
-- out: boot_id text, seen_us uint, verdict int, measured text, profile text
SELECT b.boot_id, p.seen_us, p.verdict, r.measured, r.profile
 FROM nodes n JOIN runs r ON r.node = n.id JOIN reports p ON p.id = r.report
 JOIN boots b ON b.id = p.boot WHERE n.node = :node
 AND r.profile IN ('rung-load', 'full') ORDER BY r.report DESC LIMIT 1;

-- node_tested: find the last test
-- in: node text
-- out: boot_id text, seen_us uint, verdict int, profile text, check_name text, source int
SELECT b.boot_id, p.seen_us, p.verdict, r.profile, i.check_name, i.source
 FROM nodes n JOIN runs r ON r.node = n.id JOIN reports p ON p.id = r.report
 JOIN boots b ON b.id = p.boot LEFT JOIN items i ON i.report = p.id AND i.nth = 0
 WHERE n.node = :node AND r.profile IN ('quick', 'full') ORDER BY r.report DESC LIMIT 1;
