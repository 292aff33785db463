/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs assay-hang-look (hang_look_main.c) under the event loop. It does the queries about a hung
 * job that may block (on a file system or a driver), so that assayd never blocks on them. It is
 * killed after HANG_CHILD_WALL_US. If it does not die then (state D), it is abandoned, and no
 * other is started until it has ended.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct hang_child;
struct sd_event;

#define HANG_CHILD_WALL_US (20 * USEC_PER_SEC)

enum {
	HANG_CHILD_OUTPUT_MAX = 4 * 1024 * 1024, /* bytes */
	HANG_CHILD_ARGUMENTS_MAX = 256,
};

/* `text` (borrowed, [size] and a NUL) is the output; NULL: none, for the reason in `why`. */
typedef void hang_child_done(void *context, const char *text, size_t size, const char *why);

struct hang_child *hang_child_new(struct sd_event *event, hang_child_done *done, void *context);

/* Kills a running one, without calling `done`. */
void hang_child_free(struct hang_child *c);

/*
 * Start it with these arguments (NULL-terminated, without argv[0]); `done` is called once, later.
 * -EBUSY while one runs, or an abandoned one still exists.
 */
int hang_child_start(struct hang_child *c, const char *const *arguments, struct err *err);

/* Is `done` still to be called? False for an abandoned one. */
bool hang_child_runs(const struct hang_child *c);
