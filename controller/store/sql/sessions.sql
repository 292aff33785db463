-- SPDX-License-Identifier: Apache-2.0
-- Sessions of browsers.

-- sessions_trim: drop sessions that ended
-- in: now_us uint, used_us uint
DELETE FROM sessions WHERE until_us <= :now_us OR used_us <= :used_us;

-- sessions_trim_token: drop sessions of a token
-- Those used longest ago, when there are more.
-- in: token text, most uint
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE token = :token
 ORDER BY used_us DESC, id DESC LIMIT 1000 OFFSET :most);

-- sessions_count: count sessions
-- Of other tokens, for those of one are trimmed.
-- in: token text
-- out: n uint
SELECT count(*) FROM sessions WHERE token <> :token;

-- session_add: keep session
-- in: sha256 text, token text, name text, role text, origin text, made_us uint, until_us uint
-- gives: id
INSERT INTO sessions (sha256, token, name, role, origin, made_us, used_us, until_us)
VALUES (:sha256, :token, :name, :role, :origin, :made_us, :made_us, :until_us);

-- session_find: find session
-- in: sha256 text
-- out: id int, token text, role text, used_us uint, until_us uint
SELECT id, token, role, used_us, until_us FROM sessions WHERE sha256 = :sha256;

-- session_use: note use of session
-- in: id int, used_us uint
UPDATE sessions SET used_us = :used_us WHERE id = :id AND used_us < :used_us;

-- session_end: end session
-- in: id int
-- gives: changes
DELETE FROM sessions WHERE id = :id;

-- sessions_read: read sessions
-- in: before int, limit uint
-- out: id int, token text, name text, role text, origin text, made_us uint, used_us uint, until_us uint
SELECT id, token, name, role, origin, made_us, used_us, until_us FROM sessions WHERE id < :before
 ORDER BY id DESC LIMIT :limit;
