-- SPDX-License-Identifier: Apache-2.0
-- From version 6 to 7: what hosts and their parts were before a restart.

-- Beside its row of baselines, written less often: it is much more.
CREATE TABLE usuals (
	key TEXT NOT NULL PRIMARY KEY,     -- baselines.key
	hosts BLOB NOT NULL                -- usual_bytes.c
) STRICT;
