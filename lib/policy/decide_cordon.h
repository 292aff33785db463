/* SPDX-License-Identifier: Apache-2.0 */
/* What findings ask for, who may refuse it, and which nodes are cordoned. */
#pragma once

#include "lib/base/macro.h"

struct candidate;
struct deciding;
struct refusal;

/* Sets what each candidate asks for, and sorts them. */
void decide_weigh(struct deciding *d);

/* At most one cordon per node, in that order, while budgets last. */
void decide_cordons(struct deciding *d);

/* Checks that come before any budget: who owns the node, and what people ordered about it. */
bool decide_stands_allow(const struct deciding *d, const struct candidate *c, struct refusal *ret);

/* What is known of the finding, for the record. */
const char *decide_evidence(struct deciding *d, const struct candidate *c);
