-- SPDX-License-Identifier: Apache-2.0
-- From version 10 to 11: what each reference said of an item (store_sql.h), so that a replay judges as it was judged; NULL: not kept.
ALTER TABLE items ADD COLUMN facts INTEGER;
