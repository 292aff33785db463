/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all hosts of a job have said of its ranks, as one case that can be judged
 * (lib/hang/hang_judge.h). Each rank is what its own host says; what RAS told others of it counts
 * only where its own host says nothing, and then what was told last. Pure but for memory.
 */
#pragma once

#include "controller/job/hang_docs.h"
#include "controller/job/hang_places.h"
#include "lib/base/macro.h"

struct err;
struct hang_case;

/*
 * Into `ret`, which is zeroed before. The world is the one that most hosts say, and at least the
 * ranks that are placed. -E2BIG, -ENOMEM with a sentence: `ret` is to be released all the same.
 */
int hang_merge(const struct hang_docs *docs, const struct hang_places *places,
	       struct hang_case *ret, struct err *err);
