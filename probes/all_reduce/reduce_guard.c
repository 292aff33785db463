/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_guard.h"

#include <math.h>

#include "probes/rdma/port_guard.h"
#include "probes/rnic_pair/pair_side.h"
#include "probes/rnic_state/nic.h"

void reduce_guard_look(struct reduce_guard *g, const struct pair_side *side,
		       const struct coll_ring_flows *flows)
{
	if (side->engine->ops->hollow || !side->engine->ops->posted)
		return;
	traffic_read_fresh(side->port, &nic_kernel, &g->now);
	g->flows_now = *flows;
	if (g->begun)
		return;
	g->before = g->now;
	g->flows_before = g->flows_now;
	g->begun = true;
}

uint64_t reduce_guard_resends(const struct reduce_guard *g)
{
	uint64_t resends = 0;

	(void)traffic_growth(&g->before, &g->now, TRAFFIC_RETRIES, &resends);
	return resends;
}

double reduce_guard_share(const struct reduce_guard *g)
{
	const uint64_t bytes = g->flows_now.out.bytes - g->flows_before.out.bytes;
	uint64_t sent = 0;

	if (!g->begun || bytes == 0 ||
	    !traffic_growth(&g->before, &g->now, TRAFFIC_SENT_BYTES, &sent))
		return NAN;
	return (double)sent / (double)bytes;
}

/* Set what was asked in one direction, as requests of equal size. */
static void set_own(const struct rdma_posted *before, const struct rdma_posted *now,
		    struct traffic_own *own)
{
	own->requests = now->requests - before->requests;
	own->size = own->requests > 0 ? (uint32_t)((now->bytes - before->bytes) / own->requests)
				      : 0;
}

char *reduce_guard_words(const struct reduce_guard *g, const struct pair_side *side,
			 const struct traffic_own *out, const struct traffic_own *in)
{
	struct traffic_own sent = *out, came = *in;

	if (!g->begun)
		return NULL;
	set_own(&g->flows_before.out, &g->flows_now.out, &sent);
	set_own(&g->flows_before.in, &g->flows_now.in, &came);
	return port_foreign_words(side->port, &g->before, &g->now, &sent, &came);
}
