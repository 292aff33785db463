-- SPDX-License-Identifier: Apache-2.0
-- Version 1 of the controller's store: never changed, only followed by the next.
-- Times are microseconds since 1970 by the controller's clock, unless a column
-- says otherwise. Levels and sources are the numbers of enum verdict_level and
-- enum verdict_source.

-- One row a host: what is known of it now.
CREATE TABLE nodes (
	id INTEGER PRIMARY KEY,
	node TEXT NOT NULL UNIQUE,
	boot INTEGER NOT NULL,             -- boots.id of the newest report
	seq INTEGER NOT NULL,              -- of the newest report
	time TEXT,                         -- of the newest report, by the host's clock
	first_us INTEGER NOT NULL,
	seen_us INTEGER NOT NULL,          -- when anything of it last came in
	profile TEXT,
	agent TEXT,
	sku TEXT,
	topology TEXT,
	env TEXT NOT NULL DEFAULT '{}',    -- JSON object of strings
	verdict INTEGER NOT NULL,          -- over all profiles
	sentence TEXT
) STRICT;

CREATE TABLE boots (
	id INTEGER PRIMARY KEY,
	node INTEGER NOT NULL,             -- nodes.id
	boot_id TEXT NOT NULL,
	UNIQUE (node, boot_id)
) STRICT;

-- One row a report; the body is what came over the wire, packed.
CREATE TABLE reports (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	node INTEGER NOT NULL,
	seen_us INTEGER NOT NULL,
	time TEXT,                         -- by the host's clock
	profile TEXT,
	verdict INTEGER NOT NULL,
	sentence TEXT,
	coding INTEGER NOT NULL,           -- enum pack_coding of the body
	body BLOB,                         -- NULL once thinned out
	UNIQUE (boot, seq)
) STRICT;
CREATE INDEX reports_by_node ON reports (node, id);
CREATE INDEX reports_by_age ON reports (seen_us);

-- What was not pass in a report.
CREATE TABLE items (
	report INTEGER NOT NULL,           -- reports.id
	nth INTEGER NOT NULL,              -- 0: the worst
	node INTEGER NOT NULL,
	check_name TEXT NOT NULL,
	subject TEXT NOT NULL,
	level INTEGER NOT NULL,
	value REAL,
	unit TEXT,
	expected REAL,
	floor REAL,
	source INTEGER NOT NULL,
	n INTEGER NOT NULL,
	fatal INTEGER NOT NULL,
	sentence TEXT,
	PRIMARY KEY (report, nth)
) STRICT, WITHOUT ROWID;

-- The newest run of each profile of a host.
CREATE TABLE runs (
	node INTEGER NOT NULL,
	profile TEXT NOT NULL,
	report INTEGER NOT NULL,           -- reports.id
	time TEXT,
	verdict INTEGER NOT NULL,
	measured TEXT NOT NULL,            -- check, subject, unit of each item; tabs and lines
	PRIMARY KEY (node, profile)
) STRICT, WITHOUT ROWID;

-- The last runs of what was bad in one of them: K of N (windows.h).
CREATE TABLE windows (
	node TEXT NOT NULL,
	check_name TEXT NOT NULL,
	subject TEXT NOT NULL,
	bits INTEGER NOT NULL,             -- bit 0 the newest run, 1 bad
	seen INTEGER NOT NULL,             -- runs behind the bits
	k INTEGER NOT NULL,                -- of the policy's rule when it was last seen
	n INTEGER NOT NULL,
	since_us INTEGER NOT NULL,         -- the first bad one
	last_us INTEGER NOT NULL,
	PRIMARY KEY (node, check_name, subject)
) STRICT, WITHOUT ROWID;

-- What reached its K of N, or was fatal by itself; one a (host, check) at a time.
CREATE TABLE incidents (
	id INTEGER PRIMARY KEY,
	node TEXT NOT NULL,
	check_name TEXT NOT NULL,
	subject TEXT NOT NULL,             -- the worst
	level INTEGER NOT NULL,
	fatal INTEGER NOT NULL,
	rule TEXT,                         -- of the policy
	action TEXT NOT NULL,              -- what the rule asks for; observe does nothing
	sentence TEXT NOT NULL,
	opened_us INTEGER NOT NULL,
	last_us INTEGER NOT NULL,
	closed_us INTEGER                  -- NULL while open
) STRICT;
CREATE UNIQUE INDEX incidents_open ON incidents (node, check_name) WHERE closed_us IS NULL;
