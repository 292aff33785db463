-- SPDX-License-Identifier: Apache-2.0
-- From version 17 to 18: by which profile a test of a whole host was made.
ALTER TABLE actions ADD COLUMN profile TEXT;  -- that ran, before that what was asked for; NULL: full, or no such test
