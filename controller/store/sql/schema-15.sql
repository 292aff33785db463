-- SPDX-License-Identifier: Apache-2.0
-- From version 14 to 15: what was done about the hosts that slow a job (controller/job/investigation.h). One that goes on has
-- no end, and a job has one of these at most. They outlive their job.
CREATE TABLE investigations (
	id INTEGER PRIMARY KEY,
	job INTEGER NOT NULL,              -- jobs.id
	began_us INTEGER NOT NULL,
	ended_us INTEGER,                  -- NULL: it goes on
	body TEXT NOT NULL                 -- JSON, as the API shows it, but for its number
) STRICT;
CREATE INDEX investigations_of_job ON investigations (job, id);
CREATE UNIQUE INDEX investigations_open ON investigations (job) WHERE ended_us IS NULL;
