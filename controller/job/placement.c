/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/placement.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

const char *const placement_source_names[PLACEMENT_SOURCES] = { "pods", "agents", "trace" };

const char *const placement_doubt_words[PLACEMENT_DOUBTS] = {
	[PLACEMENT_MOVED] =
		"one of its ranks was on two hosts in the window, or two hosts claim it",
	[PLACEMENT_DISAGREE] = "pods and processes disagree on the host of one of its ranks",
	[PLACEMENT_GAP] = "where one of its ranks ran is unknown for part of the window",
	[PLACEMENT_PARTLY] = "where some of its ranks ran is unknown",
	[PLACEMENT_OTHER] = "the trace names hosts other than those its ranks were on",
	[PLACEMENT_MANY] = "its ranks were on more hosts than a suspect may have",
	[PLACEMENT_UNPROVEN] =
		"only the trace names its hosts, and its sender is trusted for some jobs only",
	[PLACEMENT_NOWHERE] = "neither the trace nor anything else says which host it ran on",
};

/* --- a rank --- */

static bool is_coarse(const struct placement_span *span)
{
	return span->from_us == 0 && span->until_us == 0;
}

static bool touches(const struct placement_claim *c, const struct placement_span *span)
{
	return is_coarse(span) || (c->from_us <= span->until_us && c->until_us > span->from_us);
}

/* Do the source's claims, all for one host, cover the window without a gap? */
static bool covers(const struct placement_claim *claims, size_t n, enum placement_source source,
		   const struct placement_span *span)
{
	uint64_t at_us = span->from_us;
	bool more = true;
	size_t i;

	if (is_coarse(span))
		return true;
	/* Each round continues where the last one ended: at most n rounds. */
	while (more) {
		more = false;
		for (i = 0; i < n; i++) {
			const struct placement_claim *c = &claims[i];

			if (c->source != source || c->from_us > at_us || c->until_us <= at_us)
				continue;
			if (c->until_us > span->until_us)
				return true;
			at_us = c->until_us;
			more = true;
		}
	}
	return false;
}

struct placement_found placement_of_rank(const struct placement_claim *claims, size_t n,
					 const struct placement_span *span)
{
	struct placement_found found = { .source = PLACEMENT_TRACE };
	const char *nodes[PLACEMENT_SOURCES] = { NULL };
	int source;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct placement_claim *c = &claims[i];
		const char **node = &nodes[c->source];

		if (!touches(c, span))
			continue;
		found.known = true;
		if (*node && !streq(*node, c->node))
			found.doubt = PLACEMENT_MOVED;
		*node = c->node;
	}
	if (!found.known || found.doubt)
		return found;
	if (nodes[PLACEMENT_PODS] && nodes[PLACEMENT_AGENTS] &&
	    !streq(nodes[PLACEMENT_PODS], nodes[PLACEMENT_AGENTS])) {
		found.doubt = PLACEMENT_DISAGREE;
		return found;
	}
	for (source = 0; source < PLACEMENT_SOURCES; source++) {
		if (!nodes[source] || !covers(claims, n, (enum placement_source)source, span))
			continue;
		found.node = nodes[source];
		found.source = (enum placement_source)source;
		return found;
	}
	found.doubt = PLACEMENT_GAP;
	return found;
}

/* --- a suspect --- */

void placement_group_release(struct placement_group *group)
{
	size_t i;

	for (i = 0; i < group->n_hosts; i++)
		free(group->hosts[i]);
	group->n_hosts = 0;
}

static void add_host(struct placement_group *group, const char *node)
{
	size_t at = 0;

	while (at < group->n_hosts && strcmp(group->hosts[at], node) < 0)
		at++;
	if (at < group->n_hosts && streq(group->hosts[at], node))
		return;
	if (group->n_hosts == PLACEMENT_HOSTS_MAX) {
		group->doubt = PLACEMENT_MANY;
		return;
	}
	memmove(&group->hosts[at + 1], &group->hosts[at],
		(group->n_hosts - at) * sizeof(*group->hosts));
	group->hosts[at] = xstrdup(node);
	group->n_hosts++;
}

void placement_group_add(struct placement_group *group, const struct placement_found *found)
{
	if (!found->known) {
		group->unknown++;
		return;
	}
	group->known++;
	if (found->doubt) {
		/* The first in the list of doubts, so that the order of ranks does not matter. */
		group->doubt = group->doubt ? MIN(group->doubt, found->doubt) : found->doubt;
		return;
	}
	group->source = MAX(group->source, found->source);
	if (!group->doubt)
		add_host(group, found->node);
}

static bool is_among(const char *node, const char *const *nodes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (streq(node, nodes[i]))
			return true;
	}
	return false;
}

/*
 * A trace names the host of one rank in each tensor-parallel group, which may have further hosts:
 * if all ranks are known, its hosts must be among theirs. If not, the known ranks must be on hosts
 * of the trace.
 */
static bool agrees(const struct placement_group *group, const struct placement_traced *traced)
{
	const char *const *placed = (const char *const *)group->hosts;
	size_t i;

	for (i = 0; group->unknown > 0 && i < group->n_hosts; i++) {
		if (!is_among(placed[i], traced->hosts, traced->n))
			return false;
	}
	for (i = 0; group->unknown == 0 && i < traced->n; i++) {
		if (!is_among(traced->hosts[i], placed, group->n_hosts))
			return false;
	}
	return true;
}

enum placement_doubt placement_group_judge(struct placement_group *group,
					   const struct placement_traced *traced)
{
	if (group->doubt)
		return group->doubt;
	if (group->known > 0 && traced->n > 0 && !agrees(group, traced))
		return PLACEMENT_OTHER;
	if (group->known > 0 && group->unknown == 0)
		return PLACEMENT_SURE;
	if (traced->n == 0)
		return group->known > 0 ? PLACEMENT_PARTLY : PLACEMENT_NOWHERE;
	/* For all ranks, or for the others, there is only the trace. */
	group->source = PLACEMENT_TRACE;
	return traced->bound ? PLACEMENT_UNPROVEN : PLACEMENT_SURE;
}
