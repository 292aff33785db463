-- SPDX-License-Identifier: Apache-2.0
-- From version 15 to 16: what a job was predicted to take once its slow hosts are replaced, and how it came; and what whoever
-- started a job was advised to do.
CREATE TABLE predictions (
	id INTEGER PRIMARY KEY,
	job INTEGER NOT NULL,              -- jobs.id; 0: that job is forgotten
	run INTEGER NOT NULL,              -- whose steps it was made of
	window INTEGER NOT NULL,           -- trace_windows.id, likewise
	class TEXT NOT NULL,               -- enum blame_class, by its name
	hosts TEXT NOT NULL,               -- JSON: who is replaced, ascending
	ranks INTEGER NOT NULL,            -- the shape of the job; dp, pp: 0 when not known
	dp INTEGER NOT NULL,
	pp INTEGER NOT NULL,
	before_s REAL NOT NULL,            -- a step
	after_s REAL NOT NULL,
	low_s REAL NOT NULL,
	high_s REAL NOT NULL,
	restart_s REAL NOT NULL,           -- what a restart was taken to cost
	from_us INTEGER,                   -- of the window's first step; NULL: nobody said
	until_us INTEGER,
	made_us INTEGER NOT NULL,
	state INTEGER NOT NULL,            -- enum prediction_state
	checked_us INTEGER,
	by_run INTEGER NOT NULL,           -- which run it was held against; 0: none yet
	measured_s REAL,                   -- a step of that
	steps INTEGER NOT NULL,
	instead TEXT                       -- JSON: hosts of that run which were none of the one before; NULL: not known
) STRICT;
CREATE UNIQUE INDEX predictions_of_job ON predictions (job, run, class, hosts) WHERE job <> 0;
CREATE INDEX predictions_checked ON predictions (class, checked_us) WHERE checked_us IS NOT NULL;
CREATE TABLE advices (
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: who waits for a newer one knows it by its number
	job INTEGER NOT NULL,              -- jobs.id
	run INTEGER NOT NULL,
	prediction INTEGER NOT NULL,       -- predictions.id; 0: none
	kind INTEGER NOT NULL,             -- enum advice_kind
	why INTEGER NOT NULL,              -- enum advice_why
	exclude TEXT NOT NULL,             -- JSON: hosts to leave out
	replacements TEXT NOT NULL,        -- JSON: hosts to take instead
	reason TEXT NOT NULL,
	made_us INTEGER NOT NULL,
	expires_us INTEGER,                -- NULL: it asks for nothing
	done_us INTEGER                    -- it was acknowledged
) STRICT;
CREATE INDEX advices_of_job ON advices (job, id);
