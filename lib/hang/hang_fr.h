/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps of PyTorch's flight recorder, of any number of ranks, put into a case.
 *
 * Whose a dump is its contents say where they can: a process lists the groups that it is in, and
 * the only rank that is in all of them is its own. Else the file's name does, as long as no
 * name among the files was found to be wrong. So files that were renamed, or copied over another
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
 * Read a dump: a pickle or JSON. `file` is how people know it; its number says the rank. Nothing of
 * one that fails is kept. -ENODATA: it ends early; -EINVAL: refused, or no dump; -E2BIG, -ENOMEM.
 */
int hang_fr_add(struct hang_fr *fr, const char *file, const void *bytes, size_t n, struct err *err);

/* A dump is there and cannot be read: the sentence is told of what is missing. */
void hang_fr_broken(struct hang_fr *fr, const char *why);

/* Put all into the case. -E2BIG, -ENOMEM, -EINVAL. */
int hang_fr_put(struct hang_fr *fr, struct hang_case *c, struct err *err);
