/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the verdicts of one report to incidents: each bad item is one bad
 * window of its (check, subject), and K of N of them, or one that is fatal, is
 * an incident of (host, check). It is closed when the last N runs of all
 * its subjects were good. Observe only: nothing is done about it.
 */
#pragma once

#include <stdint.h>

struct err;
struct rules_view;
struct store;
struct verdict;

/* Rows of one host that are kept at most; the worst come first. */
enum { FINDINGS_MAX = 256 };

/* Note one report's verdict, in the store's open transaction. */
int findings_note(struct store *store, const struct rules_view *rules,
		  const struct verdict *verdict, uint64_t now_us, struct err *err);
