/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the doctor commands: one line per check, "bad   clock       ...", with what was checked
 * and, if it is not good, the one thing to do; at the end the number of each.
 */
#pragma once

#include "lib/base/macro.h"

/* In order of weight. */
enum check_state { CHECK_OK, CHECK_SKIPPED, CHECK_WARN, CHECK_BAD };

/* Zero it before its first use. */
struct checklist {
	unsigned counts[CHECK_BAD + 1];
};

/* Prints one line. The sentence has no capital and no full stop; control characters are removed. */
void checklist_say(struct checklist *list, enum check_state state, const char *item,
		   const char *fmt, ...) PRINTF(4, 5);

/* Prints the last line. Returns true if anything is bad. */
bool checklist_end(const struct checklist *list);
