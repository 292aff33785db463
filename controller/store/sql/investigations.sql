-- SPDX-License-Identifier: Apache-2.0
-- What was done about the hosts that slow a job.

-- part INVESTIGATION
SELECT id, job, body FROM investigations;

-- investigation_add: keep investigation
-- in: job int, began_us uint, ended_us uint?, body text
-- gives: id
INSERT INTO investigations (job, began_us, ended_us, body) VALUES (:job, :began_us, :ended_us, :body);

-- investigation_put: keep investigation
-- in: id int, ended_us uint?, body text
UPDATE investigations SET ended_us = :ended_us, body = :body WHERE id = :id;

-- investigations_list: read investigations
-- in: before int, limit uint
-- out: id int, job int, body text
{INVESTIGATION} WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- investigation_get: read investigation
-- in: id int
-- out: as investigations_list
{INVESTIGATION} WHERE id = :id;

-- investigations_of_job: read investigations
-- The newest first: the one that goes on, and those that ended since then.
-- in: job int, since_us uint, limit uint
-- out: as investigations_list
{INVESTIGATION} WHERE job = :job AND (ended_us IS NULL OR ended_us >= :since_us) ORDER BY id DESC LIMIT :limit;

-- investigation_of_host: find investigation
-- Of another job, that goes on and has the host among those of which it has not ended.
-- in: job int, host text
-- out: as investigations_list
{INVESTIGATION} i WHERE ended_us IS NULL AND job <> :job AND EXISTS (SELECT 1 FROM json_each(i.body, '$.hosts') h
 WHERE json_extract(h.value, '$.node') = :host AND json_extract(h.value, '$.state') IN ('open', 'testing', 'evict', 'cordoned'))
 ORDER BY id LIMIT 1;

-- investigations_going_on: read jobs
-- out: id int
SELECT job FROM investigations WHERE ended_us IS NULL;

-- investigations_oldest: read investigations
-- Of those that go on, by their state.
-- out: state text, began_us uint
SELECT json_extract(body, '$.state'), min(began_us) FROM investigations WHERE ended_us IS NULL GROUP BY 1;

-- investigations_drop_of_job: drop what is old
-- in: job int, kept uint
DELETE FROM investigations WHERE job = :job AND ended_us IS NOT NULL
 AND id <= (SELECT id FROM investigations WHERE job = :job ORDER BY id DESC LIMIT 1 OFFSET :kept);

-- investigations_drop: drop what is old
-- in: before_us uint
-- gives: changes
DELETE FROM investigations WHERE id IN (SELECT id FROM investigations ORDER BY id LIMIT 256) AND ended_us < :before_us;
