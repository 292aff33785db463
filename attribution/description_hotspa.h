/* SPDX-License-Identifier: Apache-2.0 */
/* What a description says for HotSPa: how long its sequences are, and the plans that could run them. */
#pragma once

#include "lib/json/json.h"
#include "lib/remedy/hotspa_plan.h"

struct description_plan {
	uint64_t tp, pp, dp, cp;
	uint64_t tokens[2]; /* ascending; the second is the longest that it holds */
	double seconds[2];  /* of a stage for a pack of so many tokens, forward and backward */
};

struct description_hotspa {
	struct hotspa_plan_length lengths[HOTSPA_PLAN_LENGTHS_MAX]; /* tokens descend */
	size_t n_lengths; /* 0: the description has nothing of HotSPa */
	struct description_plan plans[HOTSPA_PLAN_PLANS_MAX]; /* the first is that of now */
	size_t n_plans;
	double weights; /* bytes that a switch moves, of the whole model */
	double inside;	/* bytes a second of a GPU to others of its host */
};

/* For J_CUSTOM; `member` is a struct description_hotspa. -EINVAL. */
int description_hotspa_decode(const struct jval *v, void *member, struct err *err);
