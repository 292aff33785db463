-- SPDX-License-Identifier: Apache-2.0
-- From version 18 to 19: what people call the parts of a host, now and when an incident was opened.
CREATE TABLE part_names (
	node TEXT PRIMARY KEY,
	names TEXT NOT NULL                -- a list as lib/report/host_parts.h has it
) STRICT, WITHOUT ROWID;
ALTER TABLE incidents ADD COLUMN parts TEXT; -- those that its subject names; NULL: none that was known
