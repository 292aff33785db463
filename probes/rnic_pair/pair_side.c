/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_side.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/memory/buffer.h"
#include "probes/memory/numa.h"
#include "probes/rdma/flow.h"
#include "probes/rdma/ports.h"
#include "probes/rnic_pair/pair.h"
#include "probes/rnic_pair/pair_gpu.h"

/* The NUMA node of the RNIC; for a software device, the first one with memory. */
static const struct numa_node *local_node(const struct pair_side *s, const struct numa_host *host)
{
	const struct numa_node *first = NULL;
	size_t i;

	for (i = 0; i < host->n; i++) {
		const struct numa_node *node = &host->nodes[i];

		if (node->total_bytes == 0)
			continue;
		if (s->port->numa_node >= 0 && node->id == (unsigned)s->port->numa_node)
			return node;
		first = first ? first : node;
	}
	return first;
}

static int open_memory(struct pair_side *s, const struct numa_host *host, uint64_t bytes)
{
	const struct numa_node *node = local_node(s, host);
	struct buffer *buffer;
	int r;

	if (!node)
		return err_set(&s->err, ENODEV, "no NUMA node has memory");
	buffer = xcalloc(1, sizeof(*buffer));
	r = buffer_open(node, host->n == 1, bytes, buffer, &s->err);
	if (r < 0) {
		free(buffer);
		return err_wrap(&s->err, r, "memory of node %u", node->id);
	}
	s->buffer = buffer;
	s->node = (int)node->id;
	/* Touch it, so that the device finds pages. */
	memset(buffer->arrays[0], 0x5a, bytes);
	memset(buffer->arrays[1], 0, bytes);
	return 0;
}

/* Memory of the nearest GPU, which no core can access. */
static int add_gpu_memory(struct pair_side *s)
{
	const struct rdma_ops *ops = s->engine->ops;
	int r;

	if (s->no_gpu.code)
		return err_set(&s->err, s->no_gpu.code, "%s", s->no_gpu.msg);
	if (!s->gpu)
		return err_set(&s->err, ENODEV, "no GPU memory was allocated for this port");
	if (s->gpu->broken)
		return err_set(&s->err, -s->gpu->failed, "%s", s->gpu->broken);
	s->node = (int)s->gpu->node;
	if (s->options->ports_only)
		return 0;
	r = region_add_accel(ops, s->device, &s->gpu->gpu[GPU_SOURCE], &s->source, &s->via, &s->err);
	if (r == 0)
		r = region_add_accel(ops, s->device, &s->gpu->gpu[GPU_TARGET], &s->target, &s->via,
				     &s->err);
	return r < 0 ? err_wrap(&s->err, r, "%s and %s", s->port->device, s->gpu->subject) : 0;
}

static int add_memory(struct pair_side *s, const struct numa_host *host, uint64_t bytes)
{
	const struct rdma_ops *ops = s->engine->ops;
	int r;

	if (s->options->memory == PAIR_MEMORY_GPU)
		return add_gpu_memory(s);
	r = open_memory(s, host, bytes);
	if (r == 0)
		r = ops->region_add(s->device, s->buffer->arrays[0], bytes, &s->source, &s->err);
	if (r == 0)
		r = ops->region_add(s->device, s->buffer->arrays[1], bytes, &s->target, &s->err);
	return r;
}

/* Find the subnet of an IPv4 address of this host; the GID does not contain it. */
static void find_network(struct pair_side *s)
{
	const unsigned char *raw = s->gid.gid.raw;
	const uint32_t address = (uint32_t)raw[12] << 24 | (uint32_t)raw[13] << 16 |
				 (uint32_t)raw[14] << 8 | raw[15];
	struct ifaddrs *all = NULL;
	const struct ifaddrs *a;

	if (s->gid.index < 0 || !gid_is_ipv4(&s->gid.gid) || getifaddrs(&all) < 0)
		return;
	for (a = all; a; a = a->ifa_next) {
		struct sockaddr_in own, mask;

		if (!a->ifa_addr || !a->ifa_netmask || a->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&own, a->ifa_addr, sizeof(own));
		memcpy(&mask, a->ifa_netmask, sizeof(mask));
		if (ntohl(own.sin_addr.s_addr) != address)
			continue;
		s->mask = ntohl(mask.sin_addr.s_addr);
		s->network = address & s->mask;
	}
	freeifaddrs(all);
}

static int choose_gid(struct pair_side *s)
{
	CLEANUP(freep) struct rdma_gid *gids = xcalloc(RDMA_GIDS_MAX, sizeof(*gids));
	int n = s->engine->ops->gids(s->device, s->port->number, gids, RDMA_GIDS_MAX, &s->err);

	if (n < 0)
		return n;
	if (n > 0)
		memcpy(s->subnet, gids[0].raw, sizeof(s->subnet));
	n = gid_choose(s->port, gids, (size_t)n, s->options->gid_index, &s->gid, &s->err);
	if (n == 0)
		find_network(s);
	return n;
}

void pair_side_open(struct pair_side *s, const struct numa_host *host, uint64_t bytes)
{
	const struct rdma_ops *ops = s->engine->ops;
	int r = 0;

	/* A software device shares its cores with us: leave them to it. */
	s->wait = s->port->pci[0] ? FLOW_SPIN : FLOW_EVENTS;
	s->err = (struct err)ERR_INIT;
	if (!s->port->active)
		r = err_set(&s->err, ENETDOWN, "%s port %u: %s", s->port->device, s->port->number,
			    s->port->state);
	if (r == 0)
		r = ops->open(s->engine, s->port->device, &s->device, &s->err);
	if (r == 0 && !s->options->ports_only)
		r = choose_gid(s);
	if (r == 0)
		r = add_memory(s, host, bytes);
	if (r < 0 && !s->err.code)
		(void)err_errno(&s->err, -r, "%s port %u", s->port->device, s->port->number);
}

void pair_side_close(struct pair_side *s)
{
	const struct rdma_ops *ops = s->engine->ops;

	if (s->source.handle)
		ops->region_remove(&s->source);
	if (s->target.handle)
		ops->region_remove(&s->target);
	if (s->device)
		ops->close(s->device);
	if (s->buffer)
		buffer_close(s->buffer);
	free(s->buffer);
	s->buffer = NULL;
	s->device = NULL;
	s->gpu = NULL;
	s->via = (struct region_way){ .how = NULL };
}

int pair_side_state(const struct pair_side *s)
{
	return s->err.code == EBUSY ? SAMPLE_BUSY : SAMPLE_SET_UP;
}

unsigned pair_side_queues(const struct pair_side *sides, size_t n)
{
	unsigned most = 1;
	size_t i;

	for (i = 0; i < n; i++) {
		const unsigned asked = sides[i].options->qps;

		most = MAX(most, asked ? asked : port_queues(sides[i].port));
	}
	return most;
}

bool pair_side_is_up(const struct pair_side *s)
{
	struct rdma_port now;

	return s->device && s->engine->ops->port_now(s->device, s->port->number, &now, NULL) == 0 &&
	       now.active;
}
