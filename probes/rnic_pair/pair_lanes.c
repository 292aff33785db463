/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_lanes.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/rnic_pair/pair.h"

enum {
	/* One try of 67 ms (4.096 us x 2^14); devices may take up to four times that. */
	TIMEOUT = 14,
	/*
	 * the peer's CPU may be descheduled: 268 ms, so that 8 tries still end within FLOW_DRAIN_US
	 */
	TIMEOUT_SOFTWARE = 16,
	INLINE_BYTES = 64, /* supported by every queue */
	NSEC_PER_USEC = 1000,
};

const char *const pair_way_names[] = { [PAIR_WAY_HOST] = "host",
				       [PAIR_WAY_DMABUF] = "dmabuf",
				       [PAIR_WAY_PEERMEM] = "peermem",
				       [PAIR_WAY_PEERMEM + 1] = NULL };

static int way_of(const struct pair_side *side)
{
	if (!side->via.how)
		return PAIR_WAY_HOST;
	return streq(side->via.how, pair_way_names[PAIR_WAY_DMABUF]) ? PAIR_WAY_DMABUF
								     : PAIR_WAY_PEERMEM;
}

static const struct rdma_ops *ops_of(const struct pair_lanes *l)
{
	return l->side->engine->ops;
}

int pair_lanes_open(struct pair_lanes *l, const struct pair_side *side,
		    const struct pair_want *want, struct err *err)
{
	const struct rdma_queue_options options = {
		.port = side->port->number,
		.gid_index = side->gid.index,
		.depth = want->depth,
		.events = side->wait == FLOW_EVENTS,
		.retries = want->retries,
		.timeout = side->port->pci[0] ? TIMEOUT : TIMEOUT_SOFTWARE,
		.mtu = want->mtu,
		.receives = want->receives,
		.traffic_class = (uint8_t)MAX(side->options->service.tclass, 0),
		.sl = (uint8_t)MAX(side->options->service.sl, 0),
		.pkey_index = side->options->service.pkey_index,
	};
	struct rdma_end end;
	int r;

	*l = (struct pair_lanes){ .side = side,
				  .flow = { .engine = side->engine },
				  .least = side->source.bytes,
				  .way = way_of(side) };
	if (want->least)
		l->least = MIN(l->least, want->least);
	r = flow_open(&l->flow, side->device, &options, MIN(want->qps, (unsigned)FLOW_QUEUES_MAX),
		      err);
	if (r < 0)
		return r;
	ops_of(l)->queue_end(l->flow.queues[0], &end);
	l->mtu = end.mtu;
	l->pkey = end.pkey;
	return 0;
}

void pair_lanes_close(struct pair_lanes *l)
{
	if (l->side)
		flow_close(&l->flow);
	*l = (struct pair_lanes){ .side = NULL };
}

void pair_lanes_offer(const struct pair_lanes *l, struct pair_offer *ret)
{
	const struct pair_side *side = l->side;
	size_t i;

	*ret = (struct pair_offer){
		.n = l->flow.n_queues,
		.layer = side->port->layer,
		.address = (uintptr_t)side->target.at,
		.rkey = side->target.rkey,
		.bytes = side->target.bytes,
		.way = l->way,
	};
	memcpy(ret->gid, side->gid.gid.raw, sizeof(ret->gid));
	memcpy(ret->subnet, side->subnet, sizeof(ret->subnet));
	for (i = 0; i < l->flow.n_queues; i++)
		ops_of(l)->queue_end(l->flow.queues[i], &ret->ends[i]);
}

/* Both ends report what is measured, so both must use the same kind of memory. */
static int check_memory(const struct pair_lanes *l, const struct pair_offer *peer, struct err *err)
{
	if ((l->way > PAIR_WAY_HOST) == (peer->way > PAIR_WAY_HOST))
		return 0;
	if (peer->way == PAIR_WAY_OLDER)
		return err_set(err, EINVAL,
			       "the other side is an older Assay, which measures host memory only: "
			       "update it, or measure without --memory gpu");
	return err_set(
		err, EINVAL,
		"the other side uses memory of %s, this one of %s: give both the same --memory",
		peer->way > PAIR_WAY_HOST ? "a GPU" : "its host",
		l->way > PAIR_WAY_HOST ? "a GPU" : "its host");
}

static int check_offer(const struct pair_lanes *l, const struct pair_offer *peer, struct err *err)
{
	char own[GID_TEXT_SIZE], theirs[GID_TEXT_SIZE];
	struct rdma_gid gid = { .index = 0 };
	int r = check_memory(l, peer, err);

	if (r < 0)
		return r;
	memcpy(gid.raw, peer->gid, sizeof(gid.raw));
	if (peer->layer != l->side->port->layer)
		return err_set(err, EPROTOTYPE, "one port is Ethernet, the other InfiniBand");
	if (peer->n != l->flow.n_queues)
		return err_set(err, EINVAL, "%zu queue pairs here, %zu on the other side",
			       l->flow.n_queues, peer->n);
	if (peer->bytes < l->least)
		return err_set(err, EINVAL,
			       "the other side has %llu bytes of memory, but %llu are needed: give "
			       "both sides the same options, or smaller ones (--size, --qps)",
			       (unsigned long long)peer->bytes, (unsigned long long)l->least);
	if (peer->layer == RDMA_INFINIBAND &&
	    memcmp(l->side->subnet, peer->subnet, sizeof(peer->subnet)) != 0)
		return err_set(err, EXDEV,
			       "the two ports are in different InfiniBand subnets (GID prefixes)");
	if (peer->layer != RDMA_ETHERNET || gid_is_ipv4(&l->side->gid.gid) == gid_is_ipv4(&gid))
		return 0;
	gid_format(&l->side->gid.gid, own);
	gid_format(&gid, theirs);
	return err_set(err, EAFNOSUPPORT,
		       "%s port %u uses %s and the other side %s: give the network interfaces of "
		       "both an address of the same kind, IPv4 or IPv6",
		       l->side->port->device, l->side->port->number, own, theirs);
}

int pair_lanes_connect(struct pair_lanes *l, const struct pair_offer *peer, struct err *err)
{
	int r = check_offer(l, peer, err);
	size_t i;

	for (i = 0; r == 0 && i < l->flow.n_queues; i++)
		r = ops_of(l)->queue_connect(l->flow.queues[i], &peer->ends[i], err);
	if (r < 0)
		return r;
	l->peer_mtu = peer->ends[0].mtu;
	l->peer_way = peer->way;
	l->remote = peer->address;
	l->rkey = peer->rkey;
	l->remote_bytes = peer->bytes;
	return 0;
}

unsigned pair_lanes_mtu(const struct pair_lanes *l)
{
	return l->peer_mtu ? MIN(l->mtu, l->peer_mtu) : l->mtu;
}

bool pair_is_no_way(int r)
{
	return r == -ETIMEDOUT || r == -EHOSTUNREACH || r == -ENETUNREACH || r == -EHOSTDOWN;
}

int pair_lanes_post(struct pair_lanes *l, uint32_t bytes, struct err *err)
{
	const struct rdma_work work = {
		.opcode = RDMA_WRITE,
		.id = 1,
		.local = l->side->source.at,
		.lkey = l->side->source.lkey,
		.length = bytes,
		.remote = l->remote,
		.rkey = l->rkey,
		.signalled = true,
	};

	return ops_of(l)->post(l->flow.queues[0], &work, 1, err);
}

int pair_lanes_wait(struct pair_lanes *l, uint64_t deadline_us, struct rdma_done *ret,
		    struct err *err)
{
	struct rdma_engine *engine = l->side->engine;
	int n = 0;

	while (n == 0) {
		n = ops_of(l)->poll(l->flow.queues[0], ret, 1, err);
		if (n != 0)
			break;
		if (engine->ops->now_ns(engine) / NSEC_PER_USEC >= deadline_us)
			return -ETIME;
		if (l->side->wait == FLOW_EVENTS)
			n = engine->ops->wait(l->flow.queues[0], deadline_us, err);
	}
	return MIN(n, 0);
}

struct flow pair_lanes_flow(const struct pair_lanes *l, size_t queues, uint32_t size, unsigned depth)
{
	struct flow flow = {
		.engine = l->side->engine,
		.n_queues = MIN(queues, l->flow.n_queues),
		.local = l->side->source,
		.remote = l->remote,
		.rkey = l->rkey,
		.opcode = RDMA_WRITE,
		.size = size,
		.depth = depth,
		.batch = flow_batch(depth),
		.wait = l->side->wait,
		.stays = l->side->wait == FLOW_EVENTS, /* software device: core_keep.h */
		/* Inline data is read by the core, which cannot read GPU memory. */
		.inlined = size <= INLINE_BYTES && l->way == PAIR_WAY_HOST,
	};

	/* Both ends cycle through as much as the smaller one has. */
	flow.local.bytes = MIN(flow.local.bytes, l->remote_bytes);
	memcpy(flow.queues, l->flow.queues, sizeof(flow.queues));
	return flow;
}
