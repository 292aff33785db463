-- SPDX-License-Identifier: Apache-2.0
-- From version 3 to 4: the link that explains a slow cell, by the subject of its own row.
ALTER TABLE items ADD COLUMN link TEXT;
