/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a host (host_parts.h) in what people read and type. Pure. */
#pragma once

#include "lib/report/host_parts.h"

struct err;

/*
 * The text with the short names of parts in place of "gpu:GPU-...", "gpu:0000:4e:00.0",
 * "pci:0000:4e:00.0" and "GPU 0000:4e:00.0"; what names no known part stays as it is. `parts` may
 * be NULL. New memory.
 */
char *host_parts_words(const struct host_parts *parts, const char *text);

/* May there be any? Said without knowing them. */
bool host_parts_may_be_in(const char *text);

/* The parts that a subject names, "mlx5_0:1>gpu:GPU-..." two of them; NULL for none. New reference. */
json_t *host_parts_named(const struct host_parts *parts, const char *subject);

/* The parts whose names are in such a text; NULL for none. New reference. */
json_t *host_parts_told(const struct host_parts *parts, const char *text);

/*
 * The part that a person means by "gpu 3", "GPU-1cd89253", "4e:00.0", "mlx5_3", "slot 5" or a serial
 * number. -ENOENT with the parts that there are, -EINVAL with those it may be when there are several.
 */
int host_parts_find(const struct host_parts *parts, const char *words,
		    const struct host_part **ret_part, struct err *err);
