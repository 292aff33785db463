/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/settings_jobs.h"

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

#define JOBS(member) offsetof(struct settings_jobs, member)

static const struct jfield fields[] = {
	{ "checkpoint-interval", J_DURATION, JOBS(checkpoint_us), 0 },
	{ "warm-up", J_DURATION, JOBS(warm_up_us), 0 },
	{ "regroup", J_DURATION, JOBS(regroup_us), 0 },
	{ "rebalance", J_DURATION, JOBS(rebalance_us), 0 },
	{ "move-layers", J_DURATION, JOBS(layers_us), 0 },
};

struct settings_jobs settings_jobs_init(void)
{
	return (struct settings_jobs){
		.regroup_us = SETTINGS_JOBS_RESTART,
		.rebalance_us = SETTINGS_JOBS_RESTART,
		.layers_us = SETTINGS_JOBS_RESTART,
	};
}

int settings_jobs_decode(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, member, err);
}
