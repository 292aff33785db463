/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/report/rank_env.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { DECIMAL = 10 };

static bool is_set(const char *text)
{
	return text && *text;
}

int64_t rank_env_number(const char *text, int64_t most)
{
	char *end = NULL;
	long long value;

	if (!is_set(text) || strspn(text, "0123456789") != strlen(text))
		return -1;
	errno = 0;
	value = strtoll(text, &end, DECIMAL);
	return errno || value > most ? -1 : value;
}

char *rank_env_job(const char *job, const char *slurm_cluster, const char *slurm_id)
{
	if (is_set(job))
		return xstrdup(job);
	if (!is_set(slurm_id))
		return NULL;
	return is_set(slurm_cluster) ? xasprintf("slurm:%s/%s", slurm_cluster, slurm_id)
				     : xasprintf("slurm:%s", slurm_id);
}

int64_t rank_env_run(const char *run, const char *slurm_restarts)
{
	const int64_t number = rank_env_number(run, RANK_ENV_RUN_MAX);

	return number > 0 ? number : rank_env_number(slurm_restarts, RANK_ENV_RUN_MAX - 1) + 1;
}
