/* SPDX-License-Identifier: Apache-2.0 */
/* What findings ask for, who may refuse it, and which nodes are cordoned. */
#pragma once

#include "lib/base/macro.h"

struct candidate;
struct deciding;
struct refusal;

/* What each candidate asks for, and their order. */
void decide_weigh(struct deciding *d);

/* At most one cordon a node, in that order, while budgets last. */
void decide_cordons(struct deciding *d);

/* Whose node it is and what people said about it stand before any budget. */
bool decide_stands_allow(const struct deciding *d, const struct candidate *c, struct refusal *ret);

/* What is known of the finding, for the record. */
const char *decide_evidence(struct deciding *d, const struct candidate *c);
