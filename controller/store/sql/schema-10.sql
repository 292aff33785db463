-- SPDX-License-Identifier: Apache-2.0
-- From version 9 to 10: which store it is, and how often it was committed (store_sums.h).
CREATE TABLE seal (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	store INTEGER NOT NULL,            -- drawn at random; 0: not yet
	commits INTEGER NOT NULL
) STRICT;
INSERT INTO seal VALUES (1, 0, 0);

-- How many incidents a host had since one of them.
CREATE INDEX incidents_of_node ON incidents (node, id);
