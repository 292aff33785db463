-- SPDX-License-Identifier: Apache-2.0
-- Tests of hosts with each other.

-- campaign_put: keep campaign
-- in: id int, ended_us uint?, body text
INSERT OR REPLACE INTO campaigns (id, ended_us, body) VALUES (:id, :ended_us, :body);

-- campaign_last: read campaigns
-- out: id int
SELECT coalesce(max(id), 0) FROM campaigns;

-- campaigns: read list
-- in: before int, limit uint
-- out: id int, body text
SELECT id, body FROM campaigns WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- campaign: read campaign
-- in: id int
-- out: as campaigns
SELECT id, body FROM campaigns WHERE id = :id;

-- campaigns_open: read campaigns
-- out: id int
SELECT id FROM campaigns WHERE ended_us IS NULL ORDER BY id;

-- campaigns_drop: drop what is old
-- in: kept uint
DELETE FROM campaigns WHERE ended_us IS NOT NULL
 AND id <= (SELECT id FROM campaigns ORDER BY id DESC LIMIT 1 OFFSET :kept);
