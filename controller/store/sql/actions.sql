-- SPDX-License-Identifier: Apache-2.0
-- What was done to hosts, and where they are in their lives.

-- part ACTION
SELECT id, node, kind, state, who, rule, incident, reason, evidence, undo, result, break_glass,
 until_us, epoch, decided_us, done_us, finding_check, finding_subject, partner, sticky,
 sticky IS NOT NULL, decision, decision IS NOT NULL, profile FROM actions;

-- action_add: record action
-- in: node text, kind int, state int, who text, rule text, incident int?, reason text
-- in: evidence text, undo text, break_glass int, until_us uint, epoch uint, decided_us uint
-- in: finding_check text, finding_subject text, partner text, sticky int, decision int, profile text
-- in: request_key text
-- gives: id
INSERT INTO actions (node, kind, state, who, rule, incident, reason, evidence, undo, break_glass,
 until_us, epoch, decided_us, finding_check, finding_subject, partner, sticky, decision, profile,
 request_key)
VALUES (:node, :kind, :state, :who, :rule, :incident, :reason, :evidence, :undo, :break_glass,
 :until_us, :epoch, :decided_us, :finding_check, :finding_subject, :partner, :sticky, :decision,
 :profile, :request_key);

-- action_state: record action
-- in: id int, state int, result text, done_us uint?
UPDATE actions SET state = :state, result = :result, done_us = :done_us WHERE id = :id;

-- action_profile: record action
-- in: id int, profile text
UPDATE actions SET profile = :profile WHERE id = :id;

-- actions: read list
-- in: before int, limit uint
-- out: id int, node text, kind int, state int, who text, rule text, incident int?, reason text
-- out: evidence text, undo text, result text, break_glass int, until_us uint, epoch uint
-- out: decided_us uint, done_us uint?, finding_check text, finding_subject text, partner text
-- out: sticky int?, sticky_known int, decision int?, decision_known int, profile text
{ACTION} WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- actions_of_node: read list
-- in: before int, limit uint, node text
-- out: as actions
{ACTION} WHERE node = :node AND id < :before ORDER BY id DESC LIMIT :limit;

-- actions_open: read actions
-- out: as actions
{ACTION} WHERE done_us IS NULL ORDER BY id;

-- action: read action
-- in: id int
-- out: as actions
{ACTION} WHERE id = :id;

-- action_of_key: read action
-- in: node text, request_key text
-- out: as actions
{ACTION} WHERE node = :node AND request_key = :request_key ORDER BY id DESC LIMIT 1;

-- actions_drop: drop what is old
-- The oldest that are over, a few at a time.
-- in: kept uint
DELETE FROM actions WHERE id IN (SELECT id FROM actions
 WHERE id <= (SELECT max(id) FROM actions) - :kept AND done_us IS NOT NULL ORDER BY id LIMIT 64);

-- life_put: keep life
-- in: node text, record text, findings text
INSERT OR REPLACE INTO lives (node, record, findings) VALUES (:node, :record, :findings);

-- life_drop: drop life
-- in: node text
DELETE FROM lives WHERE node = :node;

-- lives: read lives
-- out: node text, record text, findings text
SELECT node, record, findings FROM lives;

-- part_put: keep part
-- in: serial text, cordons text
INSERT OR REPLACE INTO parts (serial, cordons) VALUES (:serial, :cordons);

-- parts: read parts
-- out: serial text, cordons text
SELECT serial, cordons FROM parts;

-- transition_add: record transition
-- in: node text, at_us uint, before int, after int, who text, why text, evidence text, undo text
-- in: event text
INSERT INTO transitions (node, at_us, before, after, who, why, evidence, undo, event)
VALUES (:node, :at_us, :before, :after, :who, :why, :evidence, :undo, :event);

-- transitions: read list
-- in: before int, limit uint, node text
-- out: id int, node text, at_us uint, before int, after int, who text, why text, evidence text
-- out: undo text, event text
SELECT id, node, at_us, before, after, who, why, evidence, undo, event FROM transitions
 WHERE node = :node AND id < :before ORDER BY id DESC LIMIT :limit;

-- transition_last: read list
-- Who gave the order that holds: the newest step of a host by one of three events.
-- in: node text, event text, other text, third text
-- out: who text, why text, at_us uint
SELECT who, why, at_us FROM transitions WHERE node = :node AND event IN (:event, :other, :third)
 ORDER BY id DESC LIMIT 1;

-- transitions_drop: drop what is old
-- in: kept uint
DELETE FROM transitions WHERE id <= (SELECT max(id) FROM transitions) - :kept;
