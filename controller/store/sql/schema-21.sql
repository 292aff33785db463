-- SPDX-License-Identifier: Apache-2.0
-- From version 20 to 21: when a host that joined by itself was verified. Whoever has reported since it joined stays what it was.
ALTER TABLE joined ADD COLUMN verified_us INTEGER;  -- NULL: it has not passed a test since it joined
UPDATE joined SET verified_us = at_us WHERE sha256 IS NOT NULL
 AND EXISTS (SELECT 1 FROM nodes n WHERE n.node = joined.node AND n.seen_us >= joined.at_us);
