/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What assayd watches between the runs of `assay run`: the kernel log (agents/assayd/log_watch.h)
 * and the links of RNICs (agents/assayd/link_watch.h). Both are in one report of the profile
 * "watch", made by `assay keep`:
 *
 *	seen --agents/assayd/watch_pace.h--> draft in $STATE/watch.json
 *	draft --assay keep--> verdict.json, spool
 *
 * The draft gets its number first and is written together with the state of both watchers in one
 * file. So an interrupted report is made again as the same one, and nothing is reported twice or
 * lost, whatever process is killed.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct sd_event;
struct watch;

struct watch *watch_new(struct sd_event *event);
void watch_free(struct watch *w);

/* Select what to watch; the rest is neither read nor reported. */
void watch_set(struct watch *w, bool links, bool kernel_log);

/* Read the kernel log rules again: they may have changed. */
void watch_reload(struct watch *w);

/* Call it periodically, in case something could not be opened or an event was missed. */
void watch_look(struct watch *w);

/*
 * As log_watch_fatal_xid(); -2 (unknown) while the kernel log is not watched. The log's rules
 * define what is fatal.
 */
int64_t watch_fatal_xid(const struct watch *w, const char *subject, uint64_t since_us);
