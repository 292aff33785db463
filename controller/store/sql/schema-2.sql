-- SPDX-License-Identifier: Apache-2.0
-- From version 1 to 2: what thinning needs to know, and what the fleet reaches.

-- Numbers of reports are given in the order in which they came: their age needs no index.
DROP INDEX reports_by_age;

-- When the controller first heard of the boot.
ALTER TABLE boots ADD COLUMN first_us INTEGER NOT NULL DEFAULT 0;
UPDATE boots SET first_us = coalesce((SELECT min(seen_us) FROM reports WHERE boot = boots.id), 0);

-- The first bad run of what became the incident: its evidence begins there.
ALTER TABLE incidents ADD COLUMN since_us INTEGER NOT NULL DEFAULT 0;
UPDATE incidents SET since_us = min(opened_us, coalesce((SELECT min(w.since_us) FROM windows w
	WHERE w.node = incidents.node AND w.check_name = incidents.check_name), opened_us));

-- One row a baseline (baseline.h): what the hosts of one SKU reach in one check.
CREATE TABLE baselines (
	id INTEGER PRIMARY KEY,
	key TEXT NOT NULL UNIQUE,          -- SKU, check, class, unit, better side, params; a line each
	saved_us INTEGER NOT NULL,         -- something was learnt not long before
	hosts BLOB NOT NULL                -- baseline_store.h
) STRICT;

-- Numbers that outlive the program.
CREATE TABLE marks (
	name TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
