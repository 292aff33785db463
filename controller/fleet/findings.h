/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the verdict of a report to incidents: each bad item is one bad window of its (check,
 * subject), and K bad ones of N, or a single fatal one, are an incident of (host, check). It is
 * closed once the last N runs of all its subjects were good; that of an event once none occurred
 * for BAD_RUN_QUIET_US (bad_run.h). Slow links and events in the kernel log have items only while
 * they are bad: a run that looked and does not name them is good. If half or more of a SKU's hosts
 * are bad in one check, there is one incident for the SKU, under "sku:NAME", instead (anomalies.h).
 * Nothing is acted on here.
 *
 * A report that is not fresh (report_clock.h) only moves windows: old data neither opens nor closes
 * incidents. The next fresh report finds the windows as if every report had come in time.
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

/* Rows kept per host at most; the worst come first. */
enum { FINDINGS_MAX = 256 };

/* Process one report's verdict in the store's open transaction. Returns 1 if the host is suspect,
 * else 0. */
int findings_note(struct store *store, struct rules_view *rules, const struct verdict *verdict,
		  const struct report_clock *arrival, struct err *err);

/* Convert a row of the windows for the fleet. Borrows from it; without serial and incident. */
struct finding_news findings_news(const struct store_window *row);
