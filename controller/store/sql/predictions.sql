-- SPDX-License-Identifier: Apache-2.0
-- What jobs were predicted to take, and what whoever starts them was advised.

-- prediction_there: find prediction
-- in: job int, run int, class text, hosts text
-- out: id int
SELECT id FROM predictions WHERE job = :job AND run = :run AND class = :class AND hosts = :hosts;

-- prediction_add: keep prediction
-- in: job int, run int, window int, class text, hosts text, ranks int, dp int, pp int, before_s real, after_s real
-- in: low_s real, high_s real, restart_s real, from_us uint?, until_us uint?, made_us uint
-- gives: id
INSERT INTO predictions (job, run, window, class, hosts, ranks, dp, pp, before_s, after_s, low_s, high_s, restart_s,
 from_us, until_us, made_us, state, by_run, steps)
VALUES (:job, :run, :window, :class, :hosts, :ranks, :dp, :pp, :before_s, :after_s, :low_s, :high_s, :restart_s, :from_us,
 :until_us, :made_us, 0, 0, 0);

-- part PREDICTION
SELECT id, job, run, window, class, hosts, ranks, dp, pp, before_s, after_s, low_s, high_s, restart_s, from_us, until_us,
 made_us, state, checked_us, by_run, measured_s, steps, instead FROM predictions;

-- prediction_last: read predictions
-- The newest of a job.
-- in: job int, limit uint
-- out: id int, job int, run int, window int, class text, hosts text, ranks int, dp int, pp int, before_s real, after_s real
-- out: low_s real, high_s real, restart_s real, from_us uint?, until_us uint?, made_us uint, state int, checked_us uint?
-- out: by_run int, measured_s real, steps int, instead text
{PREDICTION} WHERE job = :job AND job <> 0 ORDER BY id DESC LIMIT :limit;

-- prediction_check: keep prediction
-- in: id int, state int, checked_us uint, by_run int, measured_s real, steps int, instead text
UPDATE predictions SET state = :state, checked_us = :checked_us, by_run = :by_run, measured_s = :measured_s,
 steps = :steps, instead = :instead WHERE id = :id AND state = 0;

-- predictions_trust: count predictions
-- Of the last that were checked of a class.
-- in: class text, limit uint
-- out: n uint, held uint
SELECT count(*), coalesce(sum(state = 1), 0) FROM (SELECT state FROM predictions
 WHERE class = :class AND checked_us IS NOT NULL AND state IN (1, 2) ORDER BY checked_us DESC, id DESC LIMIT :limit);

-- predictions_counted: count predictions
-- out: class text, held uint, failed uint
SELECT class, sum(state = 1), sum(state = 2) FROM predictions WHERE checked_us IS NOT NULL GROUP BY class;

-- predictions_leave: keep prediction
-- Jobs are forgotten, and whether their predictions held is not.
UPDATE predictions SET job = 0 WHERE job <> 0 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = predictions.job);

-- predictions_drop: drop what is old
-- in: before_us uint, most uint
DELETE FROM predictions WHERE made_us < :before_us OR id <= (SELECT max(id) FROM predictions) - :most;

-- placement_nodes_within: read placements
-- The hosts that ranks of a run of a job were on within a time.
-- in: job text, run int, from_us uint, until_us uint, limit uint
-- out: node text
SELECT DISTINCT node FROM placements WHERE job = :job AND (run = 0 OR run = :run) AND from_us <= :until_us
 AND (until_us IS NULL OR until_us >= :from_us) ORDER BY node LIMIT :limit;

-- advice_add: keep advice
-- in: job int, run int, prediction int, kind int, why int, exclude text, replacements text, reason text, made_us uint
-- in: expires_us uint?
-- gives: id
INSERT INTO advices (job, run, prediction, kind, why, exclude, replacements, reason, made_us, expires_us)
VALUES (:job, :run, :prediction, :kind, :why, :exclude, :replacements, :reason, :made_us, :expires_us);

-- part ADVICE
SELECT id, job, run, prediction, kind, why, exclude, replacements, reason, made_us, expires_us, done_us FROM advices;

-- advice_last: read advice
-- in: job int
-- out: id int, job int, run int, prediction int, kind int, why int, exclude text, replacements text, reason text
-- out: made_us uint, expires_us uint?, done_us uint?
{ADVICE} WHERE job = :job ORDER BY id DESC LIMIT 1;

-- advice_by_id: read advice
-- in: job int, id int
-- out: as advice_last
{ADVICE} WHERE job = :job AND id = :id;

-- advice_stopped: find advice
-- in: job int, prediction int, kind int
-- out: id int
SELECT id FROM advices WHERE job = :job AND prediction = :prediction AND kind = :kind LIMIT 1;

-- advice_done: keep advice
-- in: id int, done_us uint
UPDATE advices SET done_us = :done_us WHERE id = :id AND done_us IS NULL;

-- advices_trim: drop advice
-- The oldest of a job that has more than it may.
-- in: job int, most uint
DELETE FROM advices WHERE job = :job AND id <= (SELECT id FROM advices WHERE job = :job ORDER BY id DESC LIMIT 1 OFFSET :most);

-- advices_leave: drop advice
DELETE FROM advices WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = advices.job);

-- placement_of_job_now: find placement
-- Of hosts that were heard of since then.
-- in: job text, since_us uint
-- out: known int, runs int
SELECT EXISTS (SELECT 1 FROM placements WHERE job = :job), EXISTS (SELECT 1 FROM placements p
 JOIN placement_hosts h ON h.node = p.node WHERE p.job = :job AND p.until_us IS NULL AND h.seen_us >= :since_us);

-- jobs_advised: read jobs
-- Whose last advice is of that kind.
-- in: kind int
-- out: id int
SELECT job FROM advices a WHERE kind = :kind AND id = (SELECT max(id) FROM advices WHERE job = a.job);
