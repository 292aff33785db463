-- SPDX-License-Identifier: Apache-2.0
-- From version 2 to 3: topologies of hosts, each once.
CREATE TABLE topologies (
	id INTEGER PRIMARY KEY,
	digest TEXT NOT NULL UNIQUE,       -- of the content
	seen_us INTEGER NOT NULL,          -- when it came in
	coding INTEGER NOT NULL,           -- enum pack_coding of the body
	body BLOB NOT NULL                 -- topology/1
) STRICT;
