-- SPDX-License-Identifier: Apache-2.0
-- Hosts that joined by themselves, and the tokens that let them in.

-- join_token_add: keep join token
-- in: sha256 text, names text, hosts uint, made_us uint, made_by text, expires_us uint
-- gives: id
INSERT INTO join_tokens (sha256, names, hosts, used, made_us, made_by, expires_us)
VALUES (:sha256, :names, :hosts, 0, :made_us, :made_by, :expires_us);

-- join_tokens_trim: drop join tokens
-- The oldest of those that let nobody in any more, when there are more.
-- in: now_us uint, most uint
DELETE FROM join_tokens WHERE id IN (SELECT id FROM join_tokens
 WHERE expires_us <= :now_us OR revoked_us IS NOT NULL OR used >= hosts ORDER BY id DESC LIMIT -1 OFFSET :most);

-- join_tokens_live: count join tokens
-- in: now_us uint
-- out: n uint
SELECT count(*) FROM join_tokens WHERE expires_us > :now_us AND revoked_us IS NULL AND used < hosts;

-- join_token_find: find join token
-- in: sha256 text
-- out: id int, names text, hosts uint, used uint, expires_us uint, revoked_us uint?, made_by text
SELECT id, names, hosts, used, expires_us, revoked_us, made_by FROM join_tokens WHERE sha256 = :sha256;

-- join_tokens_read: read join tokens
-- in: before int, limit uint
-- out: id int, names text, hosts uint, used uint, made_us uint, made_by text, expires_us uint, revoked_us uint?
SELECT id, names, hosts, used, made_us, made_by, expires_us, revoked_us FROM join_tokens WHERE id < :before
 ORDER BY id DESC LIMIT :limit;

-- join_token_revoke: revoke join token
-- in: id int, revoked_us uint
-- gives: changes
UPDATE join_tokens SET revoked_us = coalesce(revoked_us, :revoked_us) WHERE id = :id;

-- join_token_use: count a host of a join token
-- in: id int
UPDATE join_tokens SET used = used + 1 WHERE id = :id;

-- joined_find: find host that joined
-- in: node text
-- out: sha256 text, token int
SELECT sha256, token FROM joined WHERE node = :node;

-- joined_by_token: find host by its token
-- in: sha256 text
-- out: node text
SELECT node FROM joined WHERE sha256 = :sha256;

-- joined_count: count hosts that joined
-- out: n uint
SELECT count(*) FROM joined;

-- joined_put: keep host that joined
-- in: node text, sha256 text, at_us uint, token int, origin text
INSERT INTO joined (node, sha256, at_us, token, origin) VALUES (:node, :sha256, :at_us, :token, :origin)
 ON CONFLICT (node) DO UPDATE SET sha256 = excluded.sha256, at_us = excluded.at_us, token = excluded.token,
 origin = excluded.origin, verified_us = NULL;

-- joined_unverified: find host that joined
-- in: node text
-- out: at_us uint
SELECT at_us FROM joined WHERE node = :node AND sha256 IS NOT NULL AND verified_us IS NULL;

-- joined_verify: verify host that joined
-- in: node text, verified_us uint
UPDATE joined SET verified_us = :verified_us WHERE node = :node;
