/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated fabric: the time of a request on its links. */
#include "lib/base/macro.h"
#include "tests/fakes/rdma_sim_inside.h"

enum { JITTER_NS = 20000000 };

static bool leads_to(const struct sim_path *path, const struct rdma_queue *q, const char *at)
{
	if (path->to[0] && (!q->peer || !streq(path->to, q->peer->device)))
		return false;
	return at >= path->at && at < path->at + path->bytes && path->port == q->options.port &&
	       streq(path->device, q->device);
}

static struct sim_path *find_path(struct rdma_queue *q, const char *at)
{
	size_t i;

	for (i = 0; (!q->path || !leads_to(q->path, q, at)) && i < q->sim->n_paths; i++)
		q->path = &q->sim->paths[i];
	return q->path && leads_to(q->path, q, at) ? q->path : NULL;
}

/* Returns a number between -1 and 1, different for each link and moment. SplitMix64. */
static double chance(uint64_t link, uint64_t moment)
{
	uint64_t z = (link << 40) + moment + 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) / 0x1p52 - 1;
}

/* Queues `bytes` on each link of the path. Returns when the last has served them. */
static double serve(struct rdma_queue *q, const struct sim_path *path, uint32_t bytes)
{
	struct rdma_sim *sim = q->sim;
	double done_ns = (double)sim->now_ns;
	size_t i;

	for (i = 0; i < path->n_links; i++) {
		struct sim_link *l = &sim->links[path->links[i]];
		double rate = l->bytes_per_s * path->factor;

		if (sim->jitter > 0)
			rate *= 1 + sim->jitter * chance(path->links[i], sim->now_ns / JITTER_NS);
		sim->met += l->last && l->last != q && l->free_ns > (double)sim->now_ns;
		l->last = q;
		l->free_ns = MAX(l->free_ns, (double)sim->now_ns) + bytes / rate * 1e9;
		done_ns = MAX(done_ns, l->free_ns);
	}
	return done_ns;
}

/* Returns when the RNIC has sent the packets of this queue pair (packets_per_s). */
static uint64_t packets(struct rdma_queue *q, const struct rdma_work *work)
{
	const struct rdma_sim *sim = q->sim;
	const unsigned mtu = q->options.mtu ? q->options.mtu : SIM_MTU;
	const double n = (double)MAX((work->length + mtu - 1) / mtu, 1u);

	if (!(sim->packets_per_s > 0))
		return 0;
	q->packets_ns = MAX(q->packets_ns, (double)sim->now_ns) + n / sim->packets_per_s * 1e9;
	return (uint64_t)q->packets_ns;
}

static uint64_t links(struct rdma_queue *q, const struct rdma_work *work)
{
	struct rdma_sim *sim = q->sim;
	struct sim_path *path = sim->n_links > 0 ? find_path(q, work->local) : NULL;

	if (path)
		return (uint64_t)serve(q, path, work->length);
	sim->lost += sim->n_links > 0;
	sim->free_ns =
		MAX(sim->free_ns, sim->now_ns) + (uint64_t)(work->length / sim->bytes_per_s * 1e9);
	return sim->free_ns;
}

uint64_t sim_pass(struct rdma_queue *q, const struct rdma_work *work)
{
	const uint64_t sent_ns = packets(q, work);

	return MAX(sent_ns, links(q, work));
}
