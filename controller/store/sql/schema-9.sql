-- SPDX-License-Identifier: Apache-2.0
-- From version 8 to 9: the switches that topologies name, so that the hosts of one are found without reading those of all.

-- One row a rail of a topology whose RNICs heard of a switch (neighbors.h).
CREATE TABLE switches (
	topology INTEGER NOT NULL,         -- topologies.id
	rail INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (topology, rail)
) STRICT, WITHOUT ROWID;

-- 1: its switches are in their table. Those that are there already are read a few at a time.
ALTER TABLE topologies ADD COLUMN heard INTEGER NOT NULL DEFAULT 0;
CREATE INDEX topologies_unheard ON topologies (id) WHERE heard = 0;
