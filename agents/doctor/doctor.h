/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay doctor: is this host set up to be measured and to report? Each check says one line: what
 * was looked at, and where it is not good the one thing to do. Nothing is changed.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/assayd_config.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* In order of weight. */
enum doctor_state { DOCTOR_OK, DOCTOR_SKIPPED, DOCTOR_WARN, DOCTOR_BAD };

struct doctor {
	const char *config_path;     /* NULL: the usual one */
	struct assayd_config config; /* what could be read of it */
	bool askable;		     /* and it is good enough to ask the controller */
	unsigned counts[DOCTOR_BAD + 1];
};

/* One line, "bad   clock       ...". The sentence has neither a capital nor a full stop. */
void doctor_say(struct doctor *d, enum doctor_state state, const char *item, const char *fmt, ...)
	PRINTF(4, 5);
