/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the kernel log: reads /dev/kmsg under the event loop into a struct log_watch.
 * ASSAY_KMSG names another source: a FIFO, or a file of such records that is reread when it
 * changes.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct log_watch;
struct sd_event;
struct watch_kmsg;

/*
 * `log` is borrowed; `changed` is called after records were read. Never fails: see
 * watch_kmsg_look().
 */
struct watch_kmsg *watch_kmsg_new(struct sd_event *event, struct log_watch *log,
				  void (*changed)(void *context), void *context);
void watch_kmsg_free(struct watch_kmsg *k);

/*
 * Read the rules again, and reopen the log if it is not being followed; an obstacle is logged
 * once.
 */
void watch_kmsg_look(struct watch_kmsg *k);

/* Read the rules again, as they may have changed. Bad ones are logged, and the old ones stay. */
void watch_kmsg_reload(struct watch_kmsg *k);
