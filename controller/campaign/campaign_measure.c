/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/campaign/campaign_measure.h"

#include <errno.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/macro.h"

const char *const campaign_kind_names[] = { "allreduce", "pair", NULL };
const char *const campaign_memory_names[] = { "host", "gpu", NULL };
const char *const campaign_engine_names[] = { "verbs", "nccl", NULL };

/* The first prefix that matches a check counts, so longer ones come first. */
static const struct {
	struct campaign_measure measure;
	const char *prefix, *name;
} measures[] = {
	{ { CAMPAIGN_ALLREDUCE, CAMPAIGN_GPU_MEMORY, CAMPAIGN_NCCL },
	  "all_reduce.nccl_",
	  "all_reduce.nccl_busbw" },
	{ { CAMPAIGN_ALLREDUCE, CAMPAIGN_GPU_MEMORY, CAMPAIGN_VERBS },
	  "all_reduce.gpu_",
	  "all_reduce.gpu_busbw" },
	{ { CAMPAIGN_ALLREDUCE, CAMPAIGN_HOST_MEMORY, CAMPAIGN_VERBS },
	  "all_reduce.",
	  "all_reduce.busbw" },
	{ { CAMPAIGN_PAIR, CAMPAIGN_GPU_MEMORY, CAMPAIGN_VERBS },
	  "rnic_pair.gpu_",
	  "rnic_pair.gpu_write_bw" },
	{ { CAMPAIGN_PAIR, CAMPAIGN_HOST_MEMORY, CAMPAIGN_VERBS }, "", "rnic_pair.write_bw" },
};

static bool is_same(const struct campaign_measure *a, const struct campaign_measure *b)
{
	return a->kind == b->kind && a->memory == b->memory && a->engine == b->engine;
}

const char *campaign_measure_name(const struct campaign_measure *m)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(measures); i++) {
		if (is_same(&measures[i].measure, m))
			return measures[i].name;
	}
	return NULL;
}

int campaign_measure_check(const struct campaign_measure *m, struct err *err)
{
	if (campaign_measure_name(m))
		return 0;
	if (m->kind == CAMPAIGN_PAIR)
		return err_set(err, EINVAL,
			       "engine nccl does not work with pairs: use kind allreduce");
	return err_set(err, EINVAL, "engine nccl needs memory gpu");
}

struct campaign_measure campaign_measure_for(const char *check)
{
	size_t i = 0;

	while (!starts_with(check, measures[i].prefix))
		i++;
	return measures[i].measure;
}
