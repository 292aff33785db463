/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/loopback/data.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/loopback/loopback_mesh.h"
#include "probes/memory/buffer.h"
#include "probes/memory/numa.h"
#include "probes/rdma/ports.h"

enum { GPU_OPEN_PART = 2 /* of the time, at most half: eight contexts take seconds */ };
enum { GPUS_MAX = 64, ENDPOINTS_MAX = NUMA_NODES_MAX + GPUS_MAX };

/* Larger than the caches and what a device may write into them (DDIO). */
#define ENDPOINT_BYTES (UINT64_C(64) << 20)
#define ENDPOINT_BYTES_SOFTWARE (UINT64_C(256) << 10)

struct plan {
	struct probe *probe;
	struct rdma_engine *engine;
	struct rdma_port ports[RDMA_PORTS_MAX];
	size_t n_ports;
	struct numa_host host;
	struct endpoint ends[ENDPOINTS_MAX];
	size_t n_ends;
	struct gpu_endpoints gpus;
	struct topology topology;
	bool has_topology;
};

static void plan_release(struct plan *p)
{
	size_t i;

	for (i = 0; i < p->n_ends; i++) {
		gpu_endpoint_release(&p->ends[i]);
		if (p->ends[i].buffer)
			buffer_close(p->ends[i].buffer);
		free(p->ends[i].buffer);
		free(p->ends[i].id);
	}
	gpu_endpoints_close(&p->gpus);
	numa_host_release(&p->host);
	if (p->has_topology)
		topology_release(&p->topology);
}

/* Touch the memory of every node, so that the device finds pages. */
static int add_endpoint(struct plan *p, const struct numa_node *node, uint64_t bytes,
			struct err *err)
{
	struct endpoint *end = &p->ends[p->n_ends];
	int r;

	*end = (struct endpoint){ .buffer = xcalloc(1, sizeof(*end->buffer)),
				  .node = node->id,
				  .bytes = bytes };
	r = buffer_open(node, p->host.n == 1, bytes, end->buffer, err);
	if (r < 0) {
		free(end->buffer);
		return err_wrap(err, r, "memory of node %u", node->id);
	}
	end->id = xasprintf("numa:%u", node->id);
	p->n_ends++;
	data_fill(end->buffer->arrays[0], bytes, p->probe->seed);
	memset(end->buffer->arrays[1], 0, bytes);
	/* Only two of the arrays were touched. */
	end->pages = buffer_pages(end->buffer, 2 * bytes / BUFFER_ARRAYS);
	return 0;
}

static bool is_software(const struct plan *p)
{
	size_t i;

	for (i = 0; i < p->n_ports; i++) {
		if (p->ports[i].pci[0])
			return false;
	}
	return true;
}

/*
 * On a software device the cores move the data, and there is no path to memory to measure. With two
 * requests per queue pair, as in perftest, the data stays in their caches.
 */
static uint64_t endpoint_bytes(const struct plan *p)
{
	const struct loopback_options *o = p->probe->options;
	const uint64_t two = UINT64_C(2) * o->size * (o->qps ? o->qps : PORT_QUEUES_SLOW);

	return is_software(p) ? MAX(ENDPOINT_BYTES_SOFTWARE, two) : ENDPOINT_BYTES;
}

/* A missing GPU engine is logged; everything else is still measured. */
static void add_gpus(struct plan *p)
{
	struct err err = ERR_INIT;

	if (gpu_endpoints_open(&p->gpus, p->ends, &p->n_ends, ENDPOINTS_MAX, &err) < 0)
		log_warning("GPU memory is left out: %s", err.msg);
}

static int find_endpoints(struct plan *p, struct err *err)
{
	int r = numa_read_here(&p->host, err);
	size_t i;

	if (r == 0)
		numa_leave_out_bare(&p->host);
	for (i = 0; r == 0 && i < p->host.n && p->n_ends < ENDPOINTS_MAX; i++) {
		if (p->host.nodes[i].total_bytes > 0)
			r = add_endpoint(p, &p->host.nodes[i], endpoint_bytes(p), err);
	}
	if (r == 0)
		add_gpus(p);
	return r;
}

static int find_ports(struct plan *p, struct err *err)
{
	const struct loopback_options *o = p->probe->options;
	char left[PORTS_WORDS_SIZE];
	int n = ports_list(p->engine, p->ports, left, err);

	if (n < 0)
		return n;
	p->n_ports = (size_t)n;
	if (left[0])
		log_info("%s", left);
	if (!rdma_service_devices(&o->service))
		return 0;
	p->n_ports = ports_choose(p->ports, p->n_ports, o->service.devices, left);
	if (left[0])
		log_info("%s", left);
	return p->n_ports > 0
		       ? 0
		       : err_set(err, ENODEV, "no RDMA device of this host matches the list %s",
				 o->service.devices);
}

static int nothing_measured(const struct loopback_options *o, struct err *err)
{
	if (o->cells)
		return err_set(err, EINVAL, "--cells: none of these cells is on this host");
	return err_set(err, ENODEV, "no active RDMA port on this host");
}

int loopback_run(struct probe *probe, struct rdma_engine *engine, const struct accel_ops *accel,
		 struct err *err)
{
	CLEANUP(freep) struct plan *p = xcalloc(1, sizeof(*p));
	int r;

	struct loopback_options *o = probe->options;

	p->probe = probe;
	p->engine = engine;
	p->gpus = (struct gpu_endpoints){ .engine = accel,
					  .bytes = ENDPOINT_BYTES,
					  .seed = probe->seed,
					  .run_busy = probe->run_busy,
					  .open_us = probe_left_us(probe) / GPU_OPEN_PART };
	r = rdma_site_fill(&o->service, &o->gid_index, err);
	if (r == 0)
		r = find_ports(p, err);
	if (r == 0)
		r = find_endpoints(p, err);
	if (r == 0)
		p->has_topology = topology_load(&p->topology, NULL) == 0;
	if (r == 0) {
		const struct loopback_host host = {
			.probe = probe,
			.engine = engine,
			.ports = p->ports,
			.n_ports = p->n_ports,
			.ends = p->ends,
			.n_ends = p->n_ends,
			.topology = p->has_topology ? &p->topology : NULL,
			.numa = &p->host,
		};

		r = loopback_mesh(&host);
	}
	if (r == 0 && probe->n_samples == 0)
		r = nothing_measured(probe->options, err);
	plan_release(p);
	return r;
}
