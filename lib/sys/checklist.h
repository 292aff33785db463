/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a doctor prints: one line a check, "bad   clock       ...", that says what was looked at
 * and where it is not good the one thing to do; at the end how many of each.
 */
#pragma once

#include "lib/base/macro.h"

/* In order of weight. */
enum check_state { CHECK_OK, CHECK_SKIPPED, CHECK_WARN, CHECK_BAD };

/* Zero it before its first use. */
struct checklist {
	unsigned counts[CHECK_BAD + 1];
};

/* One line. The sentence has neither a capital nor a full stop; what could drive a terminal is cut. */
void checklist_say(struct checklist *list, enum check_state state, const char *item,
		   const char *fmt, ...) PRINTF(4, 5);

/* The last line; is anything bad? */
bool checklist_end(const struct checklist *list);
