/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that do not fit each other: at one number of one group members wait in different
 * operations, sizes or types. Classes and rules of sizes as torch/distributed/flight_recorder
 * (fr_trace) has them; but not the first rank is right, the majority is: more than half of the
 * *group*, so that dumps that are missing turn nobody into a minority. Without one all are
 * suspects. Pure.
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/* Ranks of the minorities become culprits. `*ret_found`: something does not fit. -ENOMEM. */
int hang_mismatch(const struct hang_facts *facts, struct hang_verdict *verdict, bool *ret_found,
		  struct err *err);
