-- SPDX-License-Identifier: Apache-2.0
-- The store itself: transactions, marks, size. How a statement is written: statements.awk.

-- begin: begin
BEGIN IMMEDIATE;

-- commit: commit
COMMIT;

-- rollback: roll back
ROLLBACK;

-- seal: count commits
-- in: commits uint
UPDATE seal SET commits = :commits;

-- mark_get: read mark
-- in: name text
-- out: value uint
SELECT value FROM marks WHERE name = :name;

-- mark_put: keep mark
-- in: name text, value uint
INSERT OR REPLACE INTO marks (name, value) VALUES (:name, :value);

-- pages: read size
-- out: n uint
PRAGMA page_count;

-- pages_free: read size
-- out: n uint
PRAGMA freelist_count;

-- page_size: read size
-- out: n uint
PRAGMA page_size;
