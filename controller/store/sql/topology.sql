-- SPDX-License-Identifier: Apache-2.0
-- Topologies of hosts, and the switches that their RNICs heard of.

-- topology_find: find topology
-- in: digest text
-- out: one int
SELECT 1 FROM topologies WHERE digest = :digest;

-- topology_count: count topologies
-- out: n uint
SELECT count(*) FROM topologies;

-- topology_drop: drop topologies
-- Many at once: finding them costs a walk over all hosts.
DELETE FROM topologies WHERE id IN (SELECT id FROM topologies WHERE digest NOT IN
 (SELECT topology FROM nodes WHERE topology IS NOT NULL) ORDER BY id LIMIT 64);

-- topology_add: add topology
-- in: digest text, seen_us uint, coding int, body bytes
-- gives: id
INSERT INTO topologies (digest, seen_us, coding, body, heard)
VALUES (:digest, :seen_us, :coding, :body, 1);

-- topology_get: read topology
-- in: digest text
-- out: coding int, body bytes
SELECT coding, body FROM topologies WHERE digest = :digest;

-- topology_unheard: read topology
-- out: coding int, body bytes, id int
SELECT coding, body, id FROM topologies WHERE heard = 0 ORDER BY id LIMIT 1;

-- topology_heard: note topology
-- in: id int
UPDATE topologies SET heard = 1 WHERE id = :id;

-- switch_add: add switch
-- in: topology int, rail uint, name text
INSERT OR REPLACE INTO switches (topology, rail, name) VALUES (:topology, :rail, :name);

-- switches: read switches
-- in: digest text
-- out: rail int, name text
SELECT s.rail, s.name FROM topologies t JOIN switches s ON s.topology = t.id
 WHERE t.digest = :digest;

-- switches_drop: drop switches
DELETE FROM switches WHERE topology NOT IN (SELECT id FROM topologies);

-- places: read hosts
-- in: name text
-- out: node text, below int
SELECT n.node, EXISTS (SELECT 1 FROM topologies t JOIN switches s ON s.topology = t.id
 AND s.name = :name WHERE t.digest = n.topology) FROM nodes n ORDER BY n.node;
