-- SPDX-License-Identifier: Apache-2.0
-- From version 16 to 17: hosts that joined by themselves, and the tokens that let them in.
CREATE TABLE join_tokens (
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: the records of hosts name it
	sha256 TEXT NOT NULL UNIQUE,       -- of the token, which is kept nowhere
	names TEXT NOT NULL,               -- a pattern of those who may join by it
	hosts INTEGER NOT NULL,            -- how many may
	used INTEGER NOT NULL,             -- how many did
	made_us INTEGER NOT NULL,
	made_by TEXT NOT NULL,
	expires_us INTEGER NOT NULL,
	revoked_us INTEGER
) STRICT;
CREATE TABLE joined (
	node TEXT PRIMARY KEY,
	sha256 TEXT,                       -- of the host's own token; NULL: reset, the name may join again
	at_us INTEGER NOT NULL,
	token INTEGER NOT NULL,            -- join_tokens.id; 0: it was reset before it ever joined
	origin TEXT NOT NULL               -- the address that it came from, or who reset it
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX joined_by_token ON joined (sha256) WHERE sha256 IS NOT NULL;
