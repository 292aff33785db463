-- SPDX-License-Identifier: Apache-2.0
-- From version 4 to 5: what of earlier runs still stands (kept_list.h); NULL: nothing.
ALTER TABLE runs ADD COLUMN kept TEXT;
