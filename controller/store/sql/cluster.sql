-- SPDX-License-Identifier: Apache-2.0
-- The embedded cluster: nodes, ledger, events.

-- cluster_node_put: keep node of the cluster
-- in: node text, uid text, version uint, unschedulable int, mark text, override_us uint
-- in: hold text, condition text
INSERT OR REPLACE INTO cluster_nodes (node, uid, version, unschedulable, mark, override_us, hold,
 condition)
VALUES (:node, :uid, :version, :unschedulable, :mark, :override_us, :hold, :condition);

-- cluster_node_drop: drop node of the cluster
-- in: node text
DELETE FROM cluster_nodes WHERE node = :node;

-- cluster_nodes: read nodes of the cluster
-- out: node text, uid text, version uint, unschedulable int, mark text, override_us uint
-- out: hold text, condition text
SELECT node, uid, version, unschedulable, mark, override_us, hold, condition FROM cluster_nodes
 ORDER BY node;

-- ledger_get: read the ledger
-- out: version uint, text text
SELECT version, text FROM cluster_ledger WHERE id = 1;

-- ledger_put: keep the ledger
-- in: version uint, text text
INSERT OR REPLACE INTO cluster_ledger (id, version, text) VALUES (1, :version, :text);

-- event_add: keep event
-- in: node text, at_us uint, warning int, reason text, message text
INSERT INTO cluster_events (node, at_us, warning, reason, message)
VALUES (:node, :at_us, :warning, :reason, :message);

-- events_drop: drop events
-- in: kept uint
DELETE FROM cluster_events WHERE id <= (SELECT max(id) FROM cluster_events) - :kept;
