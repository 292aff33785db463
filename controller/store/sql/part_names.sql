-- SPDX-License-Identifier: Apache-2.0
-- What people call the parts of a host.

-- part_names_get: read names of parts
-- in: node text
-- out: names text
SELECT names FROM part_names WHERE node = :node;

-- part_names_put: keep names of parts
-- in: node text, names text
INSERT OR REPLACE INTO part_names (node, names) VALUES (:node, :names);

-- part_names_drop: forget host
-- in: node text
DELETE FROM part_names WHERE node = :node;
