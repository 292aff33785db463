-- SPDX-License-Identifier: Apache-2.0
-- Baselines of the fleet and of each host: what is in their bytes is baseline_store.c's to know.

-- baseline_put: keep baseline
-- in: key text, saved_us uint, hosts bytes
INSERT INTO baselines (key, saved_us, hosts) VALUES (:key, :saved_us, :hosts)
 ON CONFLICT (key) DO UPDATE SET saved_us = :saved_us, hosts = :hosts;

-- baseline_drop: drop baseline
-- in: key text
DELETE FROM baselines WHERE key = :key;

-- baselines: read baselines
-- in: since_us uint
-- out: key text, hosts bytes, saved_us uint
SELECT key, hosts, saved_us FROM baselines WHERE saved_us >= :since_us;

-- usuals_put: keep usuals
-- in: key text, hosts bytes
INSERT OR REPLACE INTO usuals (key, hosts) VALUES (:key, :hosts);

-- usuals_drop: drop usuals
-- in: key text
DELETE FROM usuals WHERE key = :key;

-- usuals: read usuals
-- in: since_us uint
-- out: key text, hosts bytes
SELECT key, u.hosts FROM usuals u JOIN baselines USING (key) WHERE saved_us >= :since_us;
