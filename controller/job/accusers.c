/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/accusers.h"

#include <stdlib.h>

#include "controller/job/accused.h"
#include "lib/base/xalloc.h"

struct accusation {
	int64_t job;
	uint64_t last_us, acquitted_us, told_us;
};

struct accused_host {
	char *name;
	struct accusation *all;
	size_t n;
};

static void host_release(void *item)
{
	struct accused_host *host = item;

	free(host->all);
}

void accusers_release(struct accusers *accusers)
{
	map_release(&accusers->hosts, host_release);
	accusers->hosts = (struct map){ 0 };
}

static void forget_job(void *context, void *item)
{
	const int64_t *job = context;
	struct accused_host *host = item;
	size_t i;

	for (i = 0; i < host->n; i++) {
		if (host->all[i].job != *job)
			continue;
		host->all[i] = host->all[--host->n];
		return;
	}
}

void accusers_set(struct accusers *accusers, int64_t job, const json_t *list)
{
	size_t i;

	map_each(&accusers->hosts, forget_job, &job);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *node = json_string_value(json_object_get(entry, "node"));
		struct accused_host *host;

		if (!node)
			continue;
		host = map_need(&accusers->hosts, node, sizeof(*host));
		host->all = xrealloc(host->all, host->n + 1, sizeof(*host->all));
		host->all[host->n++] = (struct accusation){ job, accused_stamp(entry, "last"),
							    accused_stamp(entry, "acquitted"),
							    accused_stamp(entry, "told") };
	}
}

struct accusers_of accusers_of(const struct accusers *accusers, const char *node, int64_t job,
			       uint64_t since_us)
{
	const struct accused_host *host = map_find(&accusers->hosts, node);
	struct accusers_of ret = { .jobs = 0 };
	size_t i;

	for (i = 0; host && i < host->n; i++) {
		const struct accusation *one = &host->all[i];

		if (one->job == job)
			continue;
		ret.jobs += one->last_us >= since_us;
		ret.acquitted |= one->acquitted_us > 0 && one->acquitted_us >= since_us;
		ret.told |= one->told_us > 0 && one->told_us >= since_us;
	}
	return ret;
}
