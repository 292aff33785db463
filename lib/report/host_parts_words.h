/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a host's parts (host_parts.h) in text for people, and in what they type. Pure. */
#pragma once

#include "lib/report/host_parts.h"

struct err;

/*
 * Replaces "gpu:GPU-...", "gpu:0000:4e:00.0", "pci:0000:4e:00.0" and "GPU 0000:4e:00.0" in the text
 * by the short names of these parts; unknown ones stay. `parts` may be NULL. New memory.
 */
char *host_parts_words(const struct host_parts *parts, const char *text);

/* True if the text may contain any; needs no list of parts. */
bool host_parts_may_be_in(const char *text);

/* The parts that a subject names ("mlx5_0:1>gpu:GPU-..." has two); NULL if none. New reference. */
json_t *host_parts_named(const struct host_parts *parts, const char *subject);

/* The parts whose short names are in the text; NULL if none. New reference. */
json_t *host_parts_told(const struct host_parts *parts, const char *text);

/*
 * Finds the part that a person means by "gpu 3", "GPU-1cd89253", "4e:00.0", "mlx5_3", "slot 5" or a
 * serial number. -ENOENT with a list of all parts, -EINVAL with a list of candidates if ambiguous.
 */
int host_parts_find(const struct host_parts *parts, const char *words,
		    const struct host_part **ret_part, struct err *err);
