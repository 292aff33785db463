-- SPDX-License-Identifier: Apache-2.0
-- From version 12 to 13: jobs, and the windows of their traces. What is under way of an analysis is in its row and in a file
-- of the trace beside the store (controller/job/trace_files.h); an ended window has only its row and its analysis.
CREATE TABLE jobs (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	created_us INTEGER NOT NULL,
	last_us INTEGER NOT NULL,          -- a window of it came
	shown TEXT                         -- JSON: what its windows come to (controller/job/job_view.h); NULL: none has ended
) STRICT;
CREATE TABLE trace_windows (
	id INTEGER PRIMARY KEY,
	job INTEGER NOT NULL,              -- jobs.id
	run INTEGER NOT NULL,
	digest TEXT NOT NULL,              -- SHA-256 of the trace as it was sent; of the first part that came until all are there
	parts INTEGER NOT NULL,            -- that it has; 1: it was sent whole
	came INTEGER NOT NULL,             -- of those
	bytes INTEGER NOT NULL,            -- of those that came
	state INTEGER NOT NULL,            -- enum window_state
	tries INTEGER NOT NULL,            -- analyses that were begun and came to nothing
	received_us INTEGER NOT NULL,
	from_us INTEGER,                   -- of its first step, by our clock; NULL: the sender did not say
	until_us INTEGER,                  -- of its last step's end
	reason TEXT,                       -- why it was rejected, or failed
	summary TEXT                       -- JSON: what was found (controller/job/summary.h), without the heat map
) STRICT;
CREATE UNIQUE INDEX trace_windows_by_digest ON trace_windows (job, run, digest);
CREATE TABLE trace_parts (
	window INTEGER NOT NULL,           -- trace_windows.id
	part INTEGER NOT NULL,             -- from 1
	digest TEXT NOT NULL,
	PRIMARY KEY (window, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX trace_windows_of_job ON trace_windows (job, id);
CREATE INDEX trace_windows_by_state ON trace_windows (job, state);
CREATE INDEX trace_windows_queued ON trace_windows (id) WHERE state = 0;
