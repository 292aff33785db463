/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories into which profilers write: tells of each file there that was closed after it was
 * written, or renamed into it, and opens one so that nothing there can do harm: nothing is
 * followed, and nothing but a regular file is ever opened for more than a look.
 *
 * A directory may come and go. What was written shortly before it is watched (again) is told too.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct sd_event;
struct trace_watch;

#define TRACE_WATCH_EVERY_US (5 * USEC_PER_SEC)	  /* looks for directories that went or came */
#define TRACE_WATCH_RECENT_US (10 * USEC_PER_MIN) /* what was written since is told at first */

enum { TRACE_WATCH_SCAN_MAX = 200000 }; /* names of one directory that are looked at */

/*
 * `dirs` (NULL-terminated) are copied. `file` is told which of them, and a name in it that
 * trace_rules_name_ok() takes, borrowed. Begins when the loop runs.
 */
struct trace_watch *trace_watch_new(struct sd_event *event, char *const *dirs,
				    void (*file)(void *context, size_t dir, const char *name),
				    void *context);
void trace_watch_free(struct trace_watch *w);

/* Open the file for reading: a descriptor, with what it is in `ret_st`, or -1 and why not. */
int trace_watch_open(const struct trace_watch *w, size_t dir, const char *name, struct stat *ret_st,
		     enum trace_refusal *ret_why);

/* The path of a directory, borrowed. */
const char *trace_watch_path(const struct trace_watch *w, size_t dir);
