/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suspects of a window get the hosts that their ranks were on (placement.h), of what the store
 * knows. One whose hosts are in doubt loses its name and does not count: nobody is blamed by guess.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/placement.h"
#include "lib/base/macro.h"

struct err;
struct store;

struct placing_window {
	const char *job;
	int64_t run; /* tells claims apart where nobody said when the window was */
	struct placement_span span;
	bool bound; /* who sent it may send traces of some jobs alone */
};

/*
 * Each of the suspects of `summary` (summary.h) gets "placed": {"source", "sure", "reason"}; what
 * follows from it (hosts, counts, suspect, sentence) is changed with it. A negative errno: the
 * store cannot be read, and `summary` is half changed.
 */
int placing_settle(struct store *store, const struct placing_window *window, json_t *summary,
		   struct err *err);
