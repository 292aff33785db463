/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that do not match: at one number of one group, members wait in different operations,
 * sizes or types. Classes and size rules as in torch/distributed/flight_recorder (fr_trace); but
 * not the first rank is right, the majority is: more than half of the *group*, so that missing
 * dumps put nobody into a minority. Without a majority all are suspects. Pure.
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/* Makes ranks in minorities culprits. `*ret_found`: something does not match. -ENOMEM. */
int hang_mismatch(const struct hang_facts *facts, struct hang_verdict *verdict, bool *ret_found,
		  struct err *err);
