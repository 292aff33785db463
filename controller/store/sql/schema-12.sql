-- SPDX-License-Identifier: Apache-2.0
-- From version 11 to 12: which finding an action is about and which decision it comes from, in columns of their own. Until now
-- they stood in the JSON of its evidence; NULL: it did not say. What is no JSON stays as it is, as text.
CREATE TABLE actions_12 (
	id INTEGER PRIMARY KEY,
	node TEXT NOT NULL,
	kind INTEGER NOT NULL,             -- enum action_kind
	state INTEGER NOT NULL,            -- enum action_state
	who TEXT NOT NULL,                 -- "assay", or who asked
	rule TEXT,                         -- of the policy
	incident INTEGER,                  -- incidents.id
	reason TEXT NOT NULL,
	evidence TEXT,                     -- a sentence
	finding_check TEXT,                -- of the finding it is about
	finding_subject TEXT,
	partner TEXT,                      -- of a test with another host
	sticky INTEGER,                    -- of a cordon: only a person ends it
	decision INTEGER,                  -- enum decision_action; 0: a person's, or clean-up
	undo TEXT,                         -- what takes it back
	result TEXT,                       -- how it went, in words
	break_glass INTEGER NOT NULL,
	until_us INTEGER NOT NULL,         -- of a hold, an override, a silence; 0: none
	epoch INTEGER NOT NULL,            -- of the controller that decided it
	decided_us INTEGER NOT NULL,
	done_us INTEGER                    -- NULL while it is under way
) STRICT;
INSERT INTO actions_12
SELECT id, node, kind, state, who, rule, incident, reason,
	CASE WHEN NOT json_valid(evidence) THEN evidence
	     WHEN json_type(evidence, '$.text') = 'text' THEN json_extract(evidence, '$.text') END,
	CASE WHEN json_valid(evidence) AND json_type(evidence, '$.check') = 'text' THEN json_extract(evidence, '$.check') END,
	CASE WHEN json_valid(evidence) AND json_type(evidence, '$.subject') = 'text' THEN json_extract(evidence, '$.subject') END,
	CASE WHEN json_valid(evidence) AND json_type(evidence, '$.partner') = 'text' THEN json_extract(evidence, '$.partner') END,
	CASE WHEN json_valid(evidence) AND json_type(evidence, '$.sticky') IN ('true', 'false') THEN json_extract(evidence, '$.sticky') END,
	CASE WHEN json_valid(evidence) AND json_type(evidence, '$.decision') = 'integer' THEN json_extract(evidence, '$.decision') END,
	undo, result, break_glass, until_us, epoch, decided_us, done_us
FROM actions;
DROP TABLE actions;
ALTER TABLE actions_12 RENAME TO actions;
CREATE INDEX actions_of_node ON actions (node, id);
CREATE INDEX actions_open ON actions (id) WHERE done_us IS NULL;
