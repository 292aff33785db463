-- SPDX-License-Identifier: Apache-2.0
-- From version 7 to 8: collective tests between hosts.

-- One row a campaign: written when it begins, changes and ends.
CREATE TABLE campaigns (
	id INTEGER PRIMARY KEY,
	ended_us INTEGER,                  -- NULL while it goes on
	body TEXT NOT NULL                 -- JSON, as the API shows it
) STRICT;
CREATE INDEX campaigns_open ON campaigns (id) WHERE ended_us IS NULL;
