-- SPDX-License-Identifier: Apache-2.0
-- Jobs, and the windows of their traces.

-- job_find: find job
-- in: name text
-- out: id int
SELECT id FROM jobs WHERE name = :name;

-- job_count: count jobs
-- out: n uint
SELECT count(*) FROM jobs;

-- job_add: keep job
-- in: name text, now_us uint
-- gives: id
INSERT INTO jobs (name, created_us, last_us) VALUES (:name, :now_us, :now_us);

-- job_heard: keep job
-- in: id int, now_us uint
UPDATE jobs SET last_us = :now_us WHERE id = :id;

-- job_show: keep job
-- in: id int, shown text
UPDATE jobs SET shown = :shown WHERE id = :id;

-- job_oldest: find job
-- Heard of longest ago, of those that no analysis is waited for.
-- out: id int
SELECT id FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM trace_windows w WHERE w.job = j.id AND w.state = 0)
 ORDER BY last_us LIMIT 1;

-- job_drop: drop job
-- in: id int
DELETE FROM jobs WHERE id = :id;

-- job_drop_windows: drop job
-- in: id int
DELETE FROM trace_windows WHERE job = :id;

-- part JOB
SELECT id, name, created_us, last_us, shown FROM jobs;

-- jobs: read jobs
-- in: after int, limit uint
-- out: id int, name text, created_us uint, last_us uint, shown text
{JOB} WHERE id > :after ORDER BY id LIMIT :limit;

-- jobs_named: read jobs
-- in: name text
-- out: as jobs
{JOB} WHERE name = :name;

-- job: read job
-- in: id int
-- out: as jobs
{JOB} WHERE id = :id;

-- jobs_by_state: count jobs
-- out: state text, n uint
SELECT coalesce(json_extract(shown, '$.state'), 'waiting'), count(*) FROM jobs GROUP BY 1;

-- jobs_slowest: read jobs
-- Of those that were heard of since then.
-- in: since_us uint, limit uint
-- out: name text, slowdown real, own int
SELECT name, json_extract(shown, '$.slowdown') AS slowdown,
 json_extract(shown, '$.state') = 'owner informed' FROM jobs
 WHERE last_us >= :since_us AND json_type(shown, '$.slowdown') IN ('real', 'integer') ORDER BY slowdown DESC LIMIT :limit;

-- jobs_suspects: count hosts
-- That are suspects now, by what is shown.
-- out: n uint
SELECT count(DISTINCT h.value) FROM jobs j, json_each(j.shown, '$.suspects') s, json_each(s.value, '$.hosts') h
 WHERE json_extract(s.value, '$.since') IS NOT NULL AND json_extract(s.value, '$.acquitted') IS NULL
 AND coalesce(json_extract(s.value, '$.lapsed'), 0) = 0;

-- jobs_with_suspects: read jobs
-- out: id int
SELECT id FROM jobs WHERE json_array_length(shown, '$.suspects') > 0;

-- jobs_that_beat: read jobs
-- Whose beats were kept, and that have not ended since.
-- out: id int, name text, beats text
SELECT id, name, json_extract(shown, '$.beats') AS beats FROM jobs
 WHERE json_type(shown, '$.beats') = 'object' AND coalesce(json_extract(shown, '$.beats.ended'), 0) = 0;

-- jobs_that_hang: read jobs
-- Of whose last hang something was kept.
-- out: id int, name text, hang text
SELECT id, name, json_extract(shown, '$.hang') AS hang FROM jobs WHERE json_type(shown, '$.hang') = 'object';

-- jobs_that_accuse: read jobs
-- out: id int, accused text
SELECT id, json_extract(shown, '$.accused') AS accused FROM jobs WHERE json_array_length(shown, '$.accused') > 0;

-- jobs_that_acquitted: read jobs
-- Whose tests acquitted this host, lately first.
-- in: host text, limit uint
-- out: id int, name text, accused text
SELECT j.id, j.name, a.value AS accused FROM jobs j, json_each(j.shown, '$.accused') a
 WHERE json_extract(a.value, '$.node') = :host AND json_extract(a.value, '$.acquitted') IS NOT NULL
 ORDER BY json_extract(a.value, '$.acquitted') DESC, j.id DESC LIMIT :limit;

-- jobs_that_blame: read jobs
-- Whose suspects this host is among, by what is shown of them; heard of lately first.
-- in: host text, limit uint
-- out: id int, name text, last_us uint, run int, suspect text, investigation int
SELECT j.id, j.name, j.last_us, json_extract(j.shown, '$.run') AS run, s.value AS suspect,
 coalesce(json_extract(j.shown, '$.investigation'), 0) AS investigation
 FROM jobs j, json_each(j.shown, '$.suspects') s
 WHERE EXISTS (SELECT 1 FROM json_each(s.value, '$.hosts') h WHERE h.value = :host)
 AND coalesce(json_extract(s.value, '$.lapsed'), 0) = 0
 ORDER BY j.last_us DESC, j.id DESC LIMIT :limit;

-- part WINDOW
SELECT id, job, run, digest, parts, came, bytes, state, tries, received_us, from_us, until_us, reason, summary, bound
 FROM trace_windows;

-- trace_window_add: keep window
-- in: job int, run int, digest text, parts int, came int, bytes int, received_us uint, from_us uint?, until_us uint?, bound int
-- gives: id
INSERT INTO trace_windows (job, run, digest, parts, came, bytes, state, tries, received_us, from_us, until_us, bound)
VALUES (:job, :run, :digest, :parts, :came, :bytes, 0, 0, :received_us, :from_us, :until_us, :bound);

-- trace_window_by_digest: read window
-- in: job int, run int, digest text
-- out: id int, state int
SELECT id, state FROM trace_windows WHERE job = :job AND run = :run AND digest = :digest;

-- trace_window_next: read window
-- out: id int, job int, run int, digest text, parts int, came int, bytes int, state int, tries int, received_us uint
-- out: from_us uint?, until_us uint?, reason text, summary text, bound int
{WINDOW} WHERE state = 0 AND came = parts ORDER BY id LIMIT 1;

-- trace_window_open: read window
-- That waits for parts.
-- in: job int, run int
-- out: as trace_window_next
{WINDOW} WHERE state = 0 AND came < parts AND job = :job AND run = :run ORDER BY id DESC LIMIT 1;

-- trace_window_late: read window
-- That waits for parts since then.
-- in: before_us uint
-- out: as trace_window_next
{WINDOW} WHERE state = 0 AND came < parts AND received_us < :before_us ORDER BY id LIMIT 1;

-- trace_part_add: keep part
-- in: window int, part int, digest text
INSERT INTO trace_parts (window, part, digest) VALUES (:window, :part, :digest);

-- trace_part_came: keep part
-- in: id int, bytes int, from_us uint?, until_us uint?, digest text, bound int
UPDATE trace_windows SET came = came + 1, bytes = bytes + :bytes, digest = :digest, bound = max(bound, :bound),
 from_us = CASE WHEN from_us IS NULL OR :from_us IS NULL THEN NULL ELSE min(from_us, :from_us) END,
 until_us = CASE WHEN until_us IS NULL OR :until_us IS NULL THEN NULL ELSE max(until_us, :until_us) END WHERE id = :id;

-- trace_part_there: read part
-- in: window int, part int
-- out: digest text
SELECT digest FROM trace_parts WHERE window = :window AND part = :part;

-- trace_parts: read parts
-- in: window int
-- out: part int, digest text
SELECT part, digest FROM trace_parts WHERE window = :window ORDER BY part;

-- trace_part_before: read part
-- Which window of the run had it, the last of them.
-- in: job int, run int, part int, digest text
-- out: id int, state int
SELECT w.id, w.state FROM trace_windows w JOIN trace_parts p ON p.window = w.id AND p.part = :part
 WHERE w.job = :job AND w.run = :run AND p.digest = :digest ORDER BY w.id DESC LIMIT 1;

-- trace_parts_drop: drop what is old
-- in: before_us uint
DELETE FROM trace_parts WHERE NOT EXISTS (SELECT 1 FROM trace_windows w WHERE w.id = trace_parts.window
 AND (w.state = 0 OR w.received_us >= :before_us));

-- trace_window: read window
-- in: job int, id int
-- out: as trace_window_next
{WINDOW} WHERE job = :job AND id = :id;

-- trace_windows: read windows
-- in: job int, before int, limit uint
-- out: as trace_window_next
{WINDOW} WHERE job = :job AND id < :before ORDER BY id DESC LIMIT :limit;

-- trace_windows_analysed: read windows
-- Of the run that has the newest of the last ones; by their own time, whatever the order in which they came.
-- in: job int, limit uint
-- out: as trace_window_next
{WINDOW} WHERE id IN (SELECT id FROM trace_windows WHERE job = :job AND state = 1 AND run = (SELECT run
 FROM (SELECT run, coalesce(until_us, received_us) AS at FROM trace_windows WHERE job = :job AND state = 1 ORDER BY id DESC LIMIT :limit)
 ORDER BY at DESC, run DESC LIMIT 1) ORDER BY id DESC LIMIT :limit)
 ORDER BY coalesce(from_us, received_us) DESC, digest;

-- trace_window_before: find window
-- Of an earlier run, among the last ones.
-- in: job int, run int, limit uint
-- out: id int, run int
SELECT id, run FROM (SELECT id, run FROM trace_windows WHERE job = :job AND state = 1 ORDER BY id DESC LIMIT :limit)
 WHERE run < :run ORDER BY id DESC LIMIT 1;

-- trace_window_tried: keep window
-- in: id int
UPDATE trace_windows SET tries = tries + 1 WHERE id = :id;

-- trace_window_end: keep window
-- in: id int, state int, reason text, summary text
UPDATE trace_windows SET state = :state, reason = :reason, summary = :summary WHERE id = :id;

-- trace_window_is: find window
-- in: id int, state int
-- out: job int
SELECT job FROM trace_windows WHERE id = :id AND state = :state;

-- trace_windows_since: read windows
-- Of the last few: a job has tens of thousands.
-- in: job int, since_us uint, now_us uint, limit uint
-- out: n uint, first_us uint
SELECT count(*), coalesce(min(received_us), 0) FROM (SELECT received_us FROM trace_windows
 WHERE job = :job ORDER BY id DESC LIMIT :limit) WHERE received_us > :since_us AND received_us <= :now_us;

-- trace_windows_counted: count windows
-- in: job int, state int
-- out: n uint
SELECT count(*) FROM trace_windows WHERE job = :job AND state = :state;

-- trace_windows_queued: count windows
-- in: job int
-- out: n uint, bytes uint, job_bytes uint
SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(CASE job WHEN :job THEN bytes END), 0)
 FROM trace_windows WHERE state = 0;

-- trace_windows_drop: drop what is old
-- They lie in the order in which they came: only the first are looked at.
-- in: before_us uint
-- gives: changes
DELETE FROM trace_windows WHERE id IN (SELECT id FROM trace_windows ORDER BY id LIMIT 256)
 AND state <> 0 AND received_us < :before_us;

-- jobs_drop: drop what is old
-- in: before_us uint
-- gives: changes
DELETE FROM jobs WHERE id IN (SELECT id FROM jobs j WHERE last_us < :before_us
 AND NOT EXISTS (SELECT 1 FROM trace_windows w WHERE w.job = j.id) LIMIT 64);
