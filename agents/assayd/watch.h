/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What assayd sees between the runs of `assay run`: the kernel log
 * (agents/assayd/log_watch.h) and the links of RNICs (agents/assayd/link_watch.h). Both in
 * one report of the profile "watch", made by `assay keep`:
 *
 *	seen --agents/watch_pace.h--> draft in $STATE/watch.json --assay keep--> verdict.json, spool
 *
 * The draft has its number before anything is done with it and is written with
 * what both know in one file, so that a report that was interrupted is made
 * again as the same one, and nothing is told twice or forgotten, whoever is killed.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct sd_event;
struct watch;

struct watch *watch_new(struct sd_event *event);
void watch_free(struct watch *w);

/* What to watch from now on; what is not wanted is neither read nor told. */
void watch_set(struct watch *w, bool links, bool kernel_log);

/* The rules of the kernel log may have changed. */
void watch_reload(struct watch *w);

/* Now and then, in case something could not be opened, or a message was lost. */
void watch_look(struct watch *w);

/*
 * As log_watch_fatal_xid(); -2 while the kernel log is not watched: nobody knows. The rules of the
 * log say what is fatal.
 */
int64_t watch_fatal_xid(const struct watch *w, const char *subject, uint64_t since_us);
