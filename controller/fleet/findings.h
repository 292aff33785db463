/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the verdicts of one report to incidents: each bad item is one bad
 * window of its (check, subject), and K of N of them, or one that is fatal, is
 * an incident of (host, check). It is closed when the last N runs of all
 * its subjects were good, that of an event when it has not been for BAD_RUN_QUIET_US (bad_run.h);
 * what has items only while it is bad, a slow link or an event in the kernel log, is good in a run
 * that looked and does not name it. When half or more of a SKU's hosts are bad in one check, nobody
 * is named: one incident of the SKU, under "sku:NAME", says so (anomalies.h). Observe only: nothing
 * is done about it.
 *
 * A report that is not fresh (report_clock.h) moves windows alone: what was so
 * yesterday is no news of today, and cures nothing either. The next fresh one
 * finds the windows as they would be had every report come in time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/policy/fleet.h"

struct report_clock;
struct baselines;
struct err;
struct rules_view;
struct store;
struct store_window;
struct verdict;

/* Rows of one host that are kept at most; the worst come first. */
enum { FINDINGS_MAX = 256 };

/* Note one report's verdict, in the store's open transaction. 1 when the host is suspect, else 0. */
int findings_note(struct store *store, struct rules_view *rules, const struct verdict *verdict,
		  const struct report_clock *arrival, struct err *err);

/* What the fleet is told of a row of the windows; borrowed from it, without serial and incident. */
struct finding_news findings_news(const struct store_window *row);
