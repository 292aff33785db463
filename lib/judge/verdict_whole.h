/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds hosts whose parts are all low: they look fine against each other, and each is within the
 * spread of good parts, but their center spreads less and is not. Pure.
 */
#pragma once

struct judge_inputs;
struct peers;
struct report;
struct verdict;

/* Adds an item for the host as a whole for each check in which its parts are all low. */
void verdict_add_wholes(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers);
