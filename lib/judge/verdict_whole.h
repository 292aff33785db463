/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host all of whose parts are low together: against each other they are fine, and one
 * by one each is within what good parts vary. Their center is not: it varies less. Pure.
 */
#pragma once

struct judge_inputs;
struct peers;
struct report;
struct verdict;

/* Add the host as a whole in each check in which its parts are low together. */
void verdict_add_wholes(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers);
