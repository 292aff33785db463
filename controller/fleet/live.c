/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/live.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

const char *const live_state_names[] = { "none", "connected", "suspect", NULL };

struct agent {
	char *node;
	unsigned held;
	bool gone;
	uint64_t end_us;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct agent *)a)->node, ((const struct agent *)b)->node);
}

static struct agent *find(const struct live *l, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	struct agent key = { .node = name };
	struct agent **found = tfind(&key, &l->tree, compare);

	return found ? *found : NULL;
}

void live_begin(struct live *l, const char *node)
{
	struct agent *agent = find(l, node);

	if (!agent) {
		agent = xcalloc(1, sizeof(*agent));
		agent->node = xstrdup(node);
		if (!tsearch(agent, &l->tree, compare))
			abort(); /* out of memory */
		l->n++;
	}
	agent->held++;
	agent->gone = false;
}

void live_end(struct live *l, const char *node, bool gone, uint64_t now_us)
{
	struct agent *agent = find(l, node);

	if (!agent || agent->held == 0)
		return;
	agent->held--;
	agent->gone = gone && agent->held == 0;
	agent->end_us = now_us;
}

int live_state(const struct live *l, const char *node, uint64_t now_us)
{
	const struct agent *agent = find(l, node);

	if (!agent)
		return LIVE_NONE;
	if (agent->held > 0)
		return LIVE_CONNECTED;
	return agent->gone || now_us - agent->end_us > LIVE_RENEW_US ? LIVE_SUSPECT
								     : LIVE_CONNECTED;
}

bool live_fits(const struct live *l, const char *node, size_t max)
{
	return l->n < max || find(l, node);
}

static void agent_free(void *p)
{
	struct agent *agent = p;

	free(agent->node);
	free(agent);
}

void live_forget(struct live *l, const char *node)
{
	struct agent *agent = find(l, node);

	if (!agent || agent->held > 0)
		return;
	(void)tdelete(agent, &l->tree, compare);
	agent_free(agent);
	l->n--;
}

void live_release(struct live *l)
{
	tdestroy(l->tree, agent_free);
	*l = (struct live){ 0 };
}
