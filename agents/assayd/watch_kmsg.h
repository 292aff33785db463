/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel log as it grows: /dev/kmsg under the event loop (ASSAY_KMSG names
 * another: a FIFO, or a file of such records that is read anew when it
 * changes), each record into a struct log_watch.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct log_watch;
struct sd_event;
struct watch_kmsg;

/* `log` is borrowed; `changed` is called after records were taken. Cannot fail: see
 * watch_kmsg_look(). */
struct watch_kmsg *watch_kmsg_new(struct sd_event *event, struct log_watch *log,
				  void (*changed)(void *context), void *context);
void watch_kmsg_free(struct watch_kmsg *k);

/*
 * Read the rules again and follow the log anew if it is not followed; what
 * stands in the way is told in a line, once.
 */
void watch_kmsg_look(struct watch_kmsg *k);

/* Read the rules again, as they may have changed. Bad ones are told, the old ones stay. */
void watch_kmsg_reload(struct watch_kmsg *k);
