-- SPDX-License-Identifier: Apache-2.0
-- From version 21 to 22: browsers that may ask: each has a cookie, of which only the SHA-256 is kept.
CREATE TABLE sessions (
	id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: people name it
	sha256 TEXT NOT NULL UNIQUE,       -- of the cookie's value
	token TEXT NOT NULL,               -- SHA-256 of the token that opened it
	name TEXT,                         -- whose token that is; NULL: not told
	role TEXT NOT NULL,                -- the most that it may
	origin TEXT NOT NULL,              -- the address that it was opened from
	made_us INTEGER NOT NULL,
	used_us INTEGER NOT NULL,          -- to the minute
	until_us INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_token ON sessions (token);
