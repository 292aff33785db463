/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-hang-look (hang_look_main.c) as a child under the event loop: it asks what may not answer
 * while a job stands still (a file system, a driver), so that assayd itself never waits for these.
 * It is killed after HANG_CHILD_WALL_US. One that then still does not end, as it is in D, is left
 * behind; until it has ended no other is started.
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

/* `text` (borrowed, [size] and a NUL) is what it printed; NULL: nothing, and `why` says why. */
typedef void hang_child_done(void *context, const char *text, size_t size, const char *why);

struct hang_child *hang_child_new(struct sd_event *event, hang_child_done *done, void *context);

/* One under way is killed, without `done`. */
void hang_child_free(struct hang_child *c);

/*
 * Start it with these arguments (NULL-terminated, without its name); `done` is called once, later.
 * -EBUSY while one runs, or was left behind.
 */
int hang_child_start(struct hang_child *c, const char *const *arguments, struct err *err);

/* Is `done` still to be called? Not of one that was left behind. */
bool hang_child_runs(const struct hang_child *c);
