/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the watcher tests: rules, log lines, and samples by name. */
#pragma once

#include "agents/assayd/link_watch.h"
#include "agents/assayd/log_watch.h"
#include "lib/report/report.h"
#include "lib/sys/kernel_rules.h"

#define SEC USEC_PER_SEC
#define MIN_US USEC_PER_MIN

/* "bad devN": warn; "dead devN": fatal, code xid:79; "meh": info about the host. */
void watch_rules(struct kernel_rules *ret);

/* Passes the watcher the next kernel log line. */
void watch_say(struct log_watch *w, const struct kernel_rules *rules, const char *text,
	       uint64_t now_us);

/* Returns a report of either watcher (NULL: without it) at `now_us`; the wall clock is 1,000,000 s
 * ahead. */
struct report watch_report(struct log_watch *log, struct link_watch *links, uint64_t now_us);

/* Returns the sample of this check and subject, or NULL. */
const struct sample *watch_sample(const struct report *report, const char *check,
				  const char *subject);

/* Passes the watcher the state of port "mlx5_0:1" (eth2). */
void watch_see(struct link_watch *w, enum link_state state, uint64_t downs, uint64_t now_us);
