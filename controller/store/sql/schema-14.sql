-- SPDX-License-Identifier: Apache-2.0
-- From version 13 to 14: which ranks of jobs were on which hosts, and when (controller/job/placement.h). Claims: a host says
-- so of itself alone.
CREATE TABLE placements (
	id INTEGER PRIMARY KEY,
	job TEXT NOT NULL,                 -- its name, as in jobs.name; there may be none such yet
	run INTEGER NOT NULL,              -- 0: it did not say
	rank INTEGER NOT NULL,
	node TEXT NOT NULL,
	boot_id TEXT NOT NULL,
	source INTEGER NOT NULL,           -- enum placement_source
	start INTEGER NOT NULL,            -- of the process, by its host; tells it from the next one
	pod TEXT,                          -- uid
	from_us INTEGER NOT NULL,          -- by our clock
	until_us INTEGER                   -- NULL: when the host was heard last, it was there
) STRICT;
CREATE INDEX placements_of_rank ON placements (job, rank);
CREATE INDEX placements_of_job ON placements (job, node);
CREATE INDEX placements_of_node ON placements (node, id);
-- Its sender may send traces of some jobs alone: the hosts that it names are not believed.
ALTER TABLE trace_windows ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;
-- When a host last said which ranks it has.
CREATE TABLE placement_hosts (
	node TEXT PRIMARY KEY,
	boot_id TEXT NOT NULL,
	seen_us INTEGER NOT NULL
) STRICT;
