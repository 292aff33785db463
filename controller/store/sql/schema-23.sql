-- SPDX-License-Identifier: Apache-2.0
-- From version 22 to 23: what a person's request is told by, so that one that comes twice is done once.
ALTER TABLE actions ADD COLUMN request_key TEXT;  -- NULL: it had none
CREATE INDEX actions_of_key ON actions (node, request_key) WHERE request_key IS NOT NULL;
