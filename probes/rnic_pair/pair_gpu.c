/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_gpu.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/rnic_pair/pair.h"

enum { GPUS_MAX = 64, OPT_MEMORY = 0x280 };

const char *const pair_memory_names[] = {
	[PAIR_MEMORY_HOST] = "host", [PAIR_MEMORY_GPU] = "gpu", [PAIR_MEMORY_GPU + 1] = NULL
};

static const struct argp_option option_table[] = {
	{ "memory", OPT_MEMORY, "host|gpu", 0,
	  "Whose memory to use at both ends: the host's (default), or that of "
	  "the GPU nearest to each RNIC",
	  0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct pair_options *o = state->input;
	int i;

	if (key != OPT_MEMORY)
		return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
	for (i = 0; pair_memory_names[i]; i++) {
		if (streq(arg, pair_memory_names[i])) {
			o->memory = i;
			return 0;
		}
	}
	argp_error(state, "--memory: '%.40s' is neither host nor gpu", arg);
	return 0;
}

const struct argp pair_memory_argp = { .options = option_table, .parser = parse_option };

int pair_gpus_check(const struct pair_options *options, struct err *err)
{
	if (options->gpus)
		return 0;
	return err_set(err, ENODEV,
		       "--memory gpu: no NVIDIA GPU on this host's PCI bus, and no driver for "
		       "one");
}

/* --- choosing the nearest GPU --- */

/* A comparable distance; by NUMA node if the topology does not know. */
static unsigned distance(const struct rdma_port *port, const struct endpoint *end,
			 const struct topology *topology)
{
	CLEANUP(freep) char *rnic = xasprintf("rnic:%s", port->device);
	enum locality locality;

	if (topology && topology_class(topology, rnic, end->id, &locality) == 0 &&
	    locality != LOCALITY_VIRTUAL)
		return locality;
	return port->numa_node >= 0 && (unsigned)port->numa_node == end->node ? LOCALITY_NODE
									      : LOCALITY_SYS;
}

/*
 * Of equally near GPUs, take one with few users: a switch may have two GPUs and two RNICs below it.
 */
static size_t nearest(const struct pair_gpus *g, const struct rdma_port *port,
		      const struct topology *topology, const unsigned *uses)
{
	unsigned best_distance = UINT_MAX;
	size_t best = 0, i;

	for (i = 0; i < g->n; i++) {
		const unsigned d = distance(port, &g->ends[i], topology);

		if (d > best_distance || (d == best_distance && uses[i] >= uses[best]))
			continue;
		best = i;
		best_distance = d;
	}
	return best;
}

/* --- opening --- */

static int open_engine(struct pair_gpus *g, const struct pair_options *options,
		       const struct pair_memory_want *want, struct err *err)
{
	int r = pair_gpus_check(options, err);

	if (r < 0)
		return r;
	g->from = xcalloc(1, sizeof(*g->from));
	g->ends = xcalloc(GPUS_MAX, sizeof(*g->ends));
	*g->from = (struct gpu_endpoints){ .engine = options->gpus,
					   .bytes = want->bytes,
					   .seed = want->probe ? want->probe->seed : 0,
					   .run_busy = want->probe && want->probe->run_busy,
					   .open_us = want->open_us };
	r = gpu_endpoints_open(g->from, g->ends, &g->n, GPUS_MAX, err);
	if (r == 0 && g->n == 0)
		r = err_set(err, ENODEV, "--memory gpu: the driver shows no GPU here");
	return r;
}

void pair_gpus_take(struct pair_gpus *g, const struct pair_options *options,
		    const struct pair_memory_want *want, struct pair_side *sides, size_t n)
{
	unsigned uses[GPUS_MAX] = { 0 };
	struct err err = ERR_INIT;
	int r = open_engine(g, options, want, &err);
	size_t i;

	for (i = 0; i < n; i++) {
		size_t which;

		sides[i].no_gpu = err;
		if (r < 0)
			continue;
		which = nearest(g, sides[i].port, want->topology, uses);
		sides[i].gpu = &g->ends[which];
		uses[which]++;
	}
}

void pair_gpus_release(struct pair_gpus *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		gpu_endpoint_release(&g->ends[i]);
		free(g->ends[i].id);
	}
	if (g->from)
		gpu_endpoints_close(g->from);
	free(g->from);
	free(g->ends);
	*g = (struct pair_gpus){ .n = 0 };
}
