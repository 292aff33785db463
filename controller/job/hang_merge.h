/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the documents of all hosts of a job into one case to be judged (lib/hang/hang_judge.h).
 * Each rank is as its own host reports it; what RAS told other hosts counts only if its own host
 * says nothing, and then the newest. Pure except for memory.
 */
#pragma once

#include "controller/job/hang_docs.h"
#include "controller/job/hang_places.h"
#include "lib/base/macro.h"

struct err;
struct hang_case;

/*
 * Merge into `ret`, which is zeroed first. The world size is the one most hosts report, and at
 * least the number of ranks placed. -E2BIG, -ENOMEM with a sentence; `ret` must be released even
 * then.
 */
int hang_merge(const struct hang_docs *docs, const struct hang_places *places,
	       struct hang_case *ret, struct err *err);
