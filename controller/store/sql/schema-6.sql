-- SPDX-License-Identifier: Apache-2.0
-- From version 5 to 6: what is done about findings, and the embedded cluster.

-- One row an action: written before anything is touched, and again when it is over.
CREATE TABLE actions (
	id INTEGER PRIMARY KEY,
	node TEXT NOT NULL,
	kind INTEGER NOT NULL,             -- enum action_kind
	state INTEGER NOT NULL,            -- enum action_state
	who TEXT NOT NULL,                 -- "assay", or who asked
	rule TEXT,                         -- of the policy
	incident INTEGER,                  -- incidents.id
	reason TEXT NOT NULL,
	evidence TEXT NOT NULL,            -- JSON
	undo TEXT,                         -- what takes it back
	result TEXT,                       -- how it went, in words
	break_glass INTEGER NOT NULL,
	until_us INTEGER NOT NULL,         -- of a hold, an override, a silence; 0: none
	epoch INTEGER NOT NULL,            -- of the controller that decided it
	decided_us INTEGER NOT NULL,
	done_us INTEGER                    -- NULL while it is under way
) STRICT;
CREATE INDEX actions_of_node ON actions (node, id);
CREATE INDEX actions_open ON actions (id) WHERE done_us IS NULL;

-- Where each host is in its life, and what policy_decide() keeps of its findings.
CREATE TABLE lives (
	node TEXT NOT NULL PRIMARY KEY,
	record TEXT NOT NULL,              -- JSON: struct node_record
	findings TEXT NOT NULL             -- JSON: what tests have shown of each
) STRICT, WITHOUT ROWID;

-- What was cordoned for, by serial number: the record goes where the part goes.
CREATE TABLE parts (
	serial TEXT NOT NULL PRIMARY KEY,
	cordons TEXT NOT NULL              -- JSON: when, oldest first
) STRICT, WITHOUT ROWID;

CREATE TABLE transitions (
	id INTEGER PRIMARY KEY,
	node TEXT NOT NULL,
	at_us INTEGER NOT NULL,
	before INTEGER NOT NULL,           -- enum life_state
	after INTEGER NOT NULL,
	event TEXT NOT NULL,               -- enum life_event, by name
	who TEXT NOT NULL,
	why TEXT NOT NULL,
	evidence TEXT,                     -- JSON
	undo TEXT
) STRICT;
CREATE INDEX transitions_of_node ON transitions (node, id);

-- The embedded cluster: what an API server would hold.
CREATE TABLE cluster_nodes (
	node TEXT NOT NULL PRIMARY KEY,
	uid TEXT NOT NULL,
	version INTEGER NOT NULL,          -- counts up with each change
	unschedulable INTEGER NOT NULL,
	mark TEXT,                         -- JSON: our annotation "cordon"
	override_us INTEGER NOT NULL,      -- our annotation "override-until"
	hold TEXT,                         -- JSON: our taint "testing"
	condition TEXT                     -- JSON: our condition "Healthy"
) STRICT, WITHOUT ROWID;

-- One row: the ledger (ledger.h), changed by compare and swap.
CREATE TABLE cluster_ledger (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	version INTEGER NOT NULL,
	text TEXT NOT NULL
) STRICT;

CREATE TABLE cluster_events (
	id INTEGER PRIMARY KEY,
	node TEXT NOT NULL,
	at_us INTEGER NOT NULL,
	warning INTEGER NOT NULL,
	reason TEXT NOT NULL,
	message TEXT NOT NULL
) STRICT;

-- What a bad run of a window was, for the policy.
ALTER TABLE windows ADD COLUMN severity INTEGER NOT NULL DEFAULT 1;  -- enum sample_severity
ALTER TABLE windows ADD COLUMN source INTEGER NOT NULL DEFAULT 0;    -- enum verdict_source
ALTER TABLE windows ADD COLUMN born INTEGER NOT NULL DEFAULT 0;      -- it was never good
ALTER TABLE windows ADD COLUMN parts_bad INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN score REAL;                           -- measured by expected
ALTER TABLE windows ADD COLUMN class TEXT;
ALTER TABLE windows ADD COLUMN code TEXT;
ALTER TABLE windows ADD COLUMN sentence TEXT;
