/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches directories that profilers write to: reports each file that was closed after writing,
 * or renamed into the directory, and opens it safely: symbolic links are not followed, and only
 * regular files are opened for reading.
 *
 * Directories may come and go. Files written shortly before a directory is watched (again) are
 * reported too.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct sd_event;
struct trace_watch;

#define TRACE_WATCH_EVERY_US (5 * USEC_PER_SEC)	  /* check for new and lost directories */
#define TRACE_WATCH_RECENT_US (10 * USEC_PER_MIN) /* at first, report files this recent */

enum { TRACE_WATCH_SCAN_MAX = 200000 }; /* names read per directory */

/*
 * Watch `dirs` (NULL-terminated, copied). `file` gets the index of the directory and a name in it
 * that passes trace_rules_name_ok(), borrowed. Starts with the event loop.
 */
struct trace_watch *trace_watch_new(struct sd_event *event, char *const *dirs,
				    void (*file)(void *context, size_t dir, const char *name),
				    void *context);
void trace_watch_free(struct trace_watch *w);

/* Open the file for reading. Returns a descriptor, with its `ret_st`, or -1 with the reason. */
int trace_watch_open(const struct trace_watch *w, size_t dir, const char *name, struct stat *ret_st,
		     enum trace_refusal *ret_why);

/* Path of a directory. Borrowed. */
const char *trace_watch_path(const struct trace_watch *w, size_t dir);
