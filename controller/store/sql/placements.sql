-- SPDX-License-Identifier: Apache-2.0
-- Which ranks of jobs were on which hosts.

-- placements_present: read placements
-- What the host had when it was heard last.
-- in: node text
-- out: id int, job text, run int, rank int, boot_id text, start int
SELECT id, job, run, rank, boot_id, start FROM placements WHERE node = :node AND until_us IS NULL ORDER BY id;

-- placement_add: keep placement
-- in: job text, run int, rank int, node text, boot_id text, source int, start int, pod text, from_us uint
INSERT INTO placements (job, run, rank, node, boot_id, source, start, pod, from_us)
VALUES (:job, :run, :rank, :node, :boot_id, :source, :start, :pod, :from_us);

-- placement_end: keep placement
-- in: id int, until_us uint
UPDATE placements SET until_us = max(:until_us, from_us) WHERE id = :id;

-- placements_trim: drop placements
-- The oldest that ended, of a host that has more than it may.
-- in: node text, most uint
DELETE FROM placements WHERE id IN (SELECT id FROM placements WHERE node = :node AND until_us IS NOT NULL ORDER BY id
 LIMIT max(0, (SELECT count(*) FROM placements WHERE node = :node) - :most));

-- placement_of_job: find placement
-- in: job text, node text
-- out: one int
SELECT 1 FROM placements WHERE job = :job AND node = :node LIMIT 1;

-- placement_nodes: count placements
-- in: job text, most uint
-- out: n uint
SELECT count(*) FROM (SELECT DISTINCT node FROM placements WHERE job = :job LIMIT :most);

-- placement_host: find host
-- in: node text
-- out: seen_us uint
SELECT seen_us FROM placement_hosts WHERE node = :node;

-- placement_hosts_count: count hosts
-- out: n uint
SELECT count(*) FROM placement_hosts;

-- placement_host_put: keep host
-- in: node text, boot_id text, seen_us uint
INSERT INTO placement_hosts (node, boot_id, seen_us) VALUES (:node, :boot_id, :seen_us)
 ON CONFLICT (node) DO UPDATE SET boot_id = excluded.boot_id, seen_us = excluded.seen_us;

-- placements_of_ranks: read placements
-- in: job text, first int, last int, limit uint
-- out: rank int, run int, node text, source int, from_us uint, until_us uint?, seen_us uint
SELECT p.rank, p.run, p.node, p.source, p.from_us, p.until_us, coalesce(h.seen_us, p.from_us)
 FROM placements p LEFT JOIN placement_hosts h ON h.node = p.node
 WHERE p.job = :job AND p.rank BETWEEN :first AND :last ORDER BY p.rank, p.id DESC LIMIT :limit;

-- placements_since: read placements
-- Of all jobs what was there since then, the newest first.
-- in: since_us uint, limit uint
-- out: job text, run int, rank int, node text, from_us uint, until_us uint?, seen_us uint
SELECT p.job, p.run, p.rank, p.node, p.from_us, p.until_us, coalesce(h.seen_us, p.from_us)
 FROM placements p LEFT JOIN placement_hosts h ON h.node = p.node
 WHERE p.until_us IS NULL OR p.until_us >= :since_us ORDER BY p.id DESC LIMIT :limit;

-- placement_present: find placement
-- Of a host that was heard of since then.
-- in: node text, since_us uint
-- out: one int
SELECT 1 FROM placements p JOIN placement_hosts h ON h.node = p.node
 WHERE p.node = :node AND p.until_us IS NULL AND h.seen_us >= :since_us LIMIT 1;

-- placement_hosts_of_job: read hosts
-- Those that have ranks of it, of those that were heard of since then.
-- in: job text, since_us uint, limit uint
-- out: node text
SELECT DISTINCT p.node FROM placements p JOIN placement_hosts h ON h.node = p.node
 WHERE p.job = :job AND p.until_us IS NULL AND h.seen_us >= :since_us ORDER BY p.node LIMIT :limit;

-- placement_hosts_of_last_run: read hosts
-- Those that had ranks of its last run, which ended since then.
-- in: job text, since_us uint, limit uint
-- out: as placement_hosts_of_job
SELECT DISTINCT node FROM placements WHERE job = :job AND until_us >= :since_us
 AND run = (SELECT max(run) FROM placements WHERE job = :job) ORDER BY node LIMIT :limit;

-- placement_jobs_of_node: read placements
-- The jobs of a host that it had ranks of since then, and from when to when as far as it is believed.
-- in: node text, since_us uint, believed_us uint, limit uint
-- out: job text, from_us uint, until_us uint
SELECT p.job, min(p.from_us), max(coalesce(p.until_us, h.seen_us + :believed_us)) AS last_us
 FROM placements p JOIN placement_hosts h ON h.node = p.node
 WHERE p.node = :node AND (p.until_us IS NULL OR p.until_us >= :since_us)
 GROUP BY p.job HAVING last_us >= :since_us ORDER BY last_us DESC LIMIT :limit;

-- placement_ranks: count ranks
-- Of one run, and of those that say none: that run, of hosts heard of since then and of others; that have ended. And of
-- later runs.
-- in: job text, run int, since_us uint
-- out: live uint, silent uint, ended uint, later uint
SELECT coalesce(sum(p.run IN (0, :run) AND p.until_us IS NULL AND coalesce(h.seen_us, 0) > :since_us), 0) AS live,
 coalesce(sum(p.run IN (0, :run) AND p.until_us IS NULL AND coalesce(h.seen_us, 0) <= :since_us), 0) AS silent,
 coalesce(sum(p.run IN (0, :run) AND p.until_us IS NOT NULL), 0) AS ended, coalesce(sum(p.run > :run), 0) AS later
 FROM placements p LEFT JOIN placement_hosts h ON h.node = p.node WHERE p.job = :job;

-- placements_drop: drop what is old
-- in: before_us uint
DELETE FROM placements WHERE id IN (SELECT id FROM placements WHERE until_us < :before_us LIMIT 4096);

-- placement_hosts_gone: drop what is old
-- Hosts that were not heard of for so long take what they had with them.
-- in: before_us uint
DELETE FROM placements WHERE node IN (SELECT node FROM placement_hosts WHERE seen_us < :before_us LIMIT 16);

-- placement_hosts_drop: drop what is old
-- in: before_us uint
DELETE FROM placement_hosts WHERE node IN (SELECT node FROM placement_hosts WHERE seen_us < :before_us LIMIT 16);
