-- SPDX-License-Identifier: Apache-2.0
-- From version 19 to 20: what each Alertmanager may have been told of and was not yet told to be over.
CREATE TABLE alerts (
	alertmanager TEXT NOT NULL,        -- its URL
	labels TEXT NOT NULL,              -- of the alert: JSON with sorted keys
	sentence TEXT NOT NULL,            -- as it was told first
	since_us INTEGER NOT NULL,
	ended INTEGER NOT NULL,            -- it is over, and that is to be told
	PRIMARY KEY (alertmanager, labels)
) STRICT, WITHOUT ROWID;
