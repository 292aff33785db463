/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_loads.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

static void drop(struct job_loads *loads, size_t place)
{
	free((char *)(uintptr_t)loads->all[place].host);
	free((char *)(uintptr_t)loads->all[place].domain);
	loads->n--;
	loads->all[place] = loads->all[loads->n];
	loads->jobs[place] = loads->jobs[loads->n];
}

void job_loads_release(struct job_loads *loads)
{
	while (loads->n > 0)
		drop(loads, loads->n - 1);
	free(loads->all);
	free(loads->jobs);
	*loads = (struct job_loads){ .n = 0 };
}

/* Index of the host; `n` if not found. */
static size_t find(const struct job_loads *loads, const char *host)
{
	size_t i = 0;

	while (i < loads->n && !streq(loads->all[i].host, host))
		i++;
	return i;
}

static void add(struct job_loads *loads, int64_t job, const struct job_judge_load *load)
{
	loads->all = xrealloc(loads->all, loads->n + 1, sizeof(*loads->all));
	loads->jobs = xrealloc(loads->jobs, loads->n + 1, sizeof(*loads->jobs));
	loads->all[loads->n] = (struct job_judge_load){
		.host = xstrdup(load->host),
		.domain = load->domain ? xstrdup(load->domain) : NULL,
		.since_us = load->since_us,
		.under_way = load->under_way,
	};
	loads->jobs[loads->n++] = job;
}

static bool is_tested(const struct fleet *fleet, const char *host)
{
	const struct fleet_node *node = fleet_find(fleet, host);

	return node && node->record.ordered_us > 0;
}

void job_loads_look(struct job_loads *loads, const struct fleet *fleet)
{
	size_t i;

	for (i = loads->n; i-- > 0;) {
		loads->all[i].under_way = is_tested(fleet, loads->all[i].host);
		if (loads->jobs[i] == 0 && !loads->all[i].under_way)
			drop(loads, i);
	}
	for (i = 0; i < fleet->n; i++) {
		const struct fleet_node *node = fleet->nodes[i];
		const struct job_judge_load load = { node->name,
						     names_text(&fleet->domains, node->domain),
						     node->record.ordered_us, true };

		if (load.since_us > 0 && find(loads, node->name) == loads->n)
			add(loads, 0, &load);
	}
}

static bool loads_host(const struct job_judge_item *item)
{
	return item->action == BLAME_PROBE && item->effect && !item->waits && !item->kept_free;
}

static bool wants(const struct job_judge_result *judged, const char *host)
{
	size_t i;

	for (i = 0; i < judged->n; i++) {
		if (loads_host(&judged->items[i]) && streq(judged->items[i].host->name, host))
			return true;
	}
	return false;
}

void job_loads_take(struct job_loads *loads, int64_t job, const struct job_judge_result *judged,
		    uint64_t now_us)
{
	size_t i;

	for (i = loads->n; i-- > 0;) {
		if (loads->jobs[i] == job && !wants(judged, loads->all[i].host))
			drop(loads, i);
	}
	for (i = 0; i < judged->n; i++) {
		const struct job_judge_host *host = judged->items[i].host;
		const struct job_judge_load load = { host->name, host->domain, now_us, false };
		const size_t place = find(loads, host->name);

		if (!loads_host(&judged->items[i]))
			continue;
		if (place == loads->n)
			add(loads, job, &load);
		else if (loads->jobs[place] == 0)
			loads->jobs[place] = job;
	}
}
