/* SPDX-License-Identifier: Apache-2.0 */
/* The HotSPa part of a description: the distribution of sequence lengths, and candidate plans. */
#pragma once

#include "lib/json/json.h"
#include "lib/remedy/hotspa_plan.h"

struct description_plan {
	uint64_t tp, pp, dp, cp;
	uint64_t tokens[2]; /* ascending; the second is the longest that fits */
	double seconds[2];  /* of a stage for a pack of that many tokens, forward and backward */
};

struct description_hotspa {
	struct hotspa_plan_length lengths[HOTSPA_PLAN_LENGTHS_MAX]; /* descending by tokens */
	size_t n_lengths; /* 0: the description does not mention HotSPa */
	struct description_plan plans[HOTSPA_PLAN_PLANS_MAX]; /* the first is the present one */
	size_t n_plans;
	double weights; /* bytes of the whole model that a switch moves */
	double inside;	/* bytes per second between GPUs of a host */
};

/* Decoder for J_CUSTOM; `member` is a struct description_hotspa. -EINVAL. */
int description_hotspa_decode(const struct jval *v, void *member, struct err *err);
