/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds flight-recorder dumps of PyTorch, from any number of ranks, to a case.
 *
 * Whose dump it is follows from its contents if possible: a process lists the groups that it is in,
 * and the only rank in all of them is its own. Else the file's name decides, as long as no name
 * among the files was found to be wrong. So files that were renamed, or that overwrote another
 * rank's, accuse nobody: what cannot be known is missing, with the reason. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/hang/hang_case.h"

struct hang_fr;

struct hang_fr *hang_fr_new(void);
void hang_fr_free(struct hang_fr *fr);
DEFINE_CLEANUP(struct hang_fr *, hang_fr_free, hang_fr_freep);

/*
 * Reads a dump: a pickle or JSON. `file` is its name for people; a number in it is the rank. On
 * failure nothing of it is kept. -ENODATA: truncated; -EINVAL: refused, or not a dump; -E2BIG,
 * -ENOMEM.
 */
int hang_fr_add(struct hang_fr *fr, const char *file, const void *bytes, size_t n, struct err *err);

/* A dump exists but cannot be read: adds the sentence to what is missing. */
void hang_fr_broken(struct hang_fr *fr, const char *why);

/* Adds everything to the case. -E2BIG, -ENOMEM, -EINVAL. */
int hang_fr_put(struct hang_fr *fr, struct hang_case *c, struct err *err);
