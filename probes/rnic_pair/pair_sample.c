/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_sample.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/loopback/loopback.h"
#include "probes/rdma/words.h"
#include "probes/rnic_pair/pair_gpu.h"

static const struct {
	const char *name, *unit;
	int better;
} checks[PAIR_CHECKS_ALL] = {
	[PAIR_CONNECT] = { "connect", "1", BETTER_NONE },
	[PAIR_WRITE_BW] = { "write_bw", "B/s", BETTER_HIGHER },
	[PAIR_WRITE_LAT] = { "write_lat", "s", BETTER_LOWER },
	[PAIR_SEND_BW] = { "send_bw", "B/s", BETTER_HIGHER },
	[PAIR_BIDIR_BW] = { "bidir_bw", "B/s", BETTER_HIGHER },
};

struct pair_end pair_end_of(const struct pair_side *side)
{
	return (struct pair_end){
		.device = side->port->device,
		.port = side->port->number,
		.rail = side->rail,
		.numa = side->port->numa_node,
		.gpu = side->options->memory == PAIR_MEMORY_GPU,
		.held = side->gpu ? side->gpu->id : NULL,
	};
}

char *pair_end_name(const struct pair_end *end)
{
	if (!end->device)
		return xstrdup(end->node);
	return end->node ? xasprintf("%s/%s:%u", end->node, end->device, end->port)
			 : xasprintf("%s:%u", end->device, end->port);
}

/* Its topology id; that of another host's RNIC is in no topology. */
static char *node_id(const struct pair_end *end)
{
	if (!end->device)
		return NULL;
	return end->node ? xasprintf("rnic:%s/%s", end->node, end->device)
			 : xasprintf("rnic:%s", end->device);
}

static void append(char **path, size_t *n, char *link)
{
	if (*n < TOPOLOGY_PATH_MAX)
		path[(*n)++] = link;
	else
		free(link);
}

/* Append the PCIe path between the memory and the RNIC of one end, if the topology knows it. */
static int append_inside(const struct topology *topology, const struct pair_end *end, bool outward,
			 char **path, size_t *n)
{
	CLEANUP(freep)
	char *memory = end->gpu ? xstrdup(end->held ? end->held : "")
				: xasprintf("numa:%d", end->numa);
	CLEANUP(freep) char *rnic = node_id(end);
	CLEANUP(strv_freep) char **links = NULL;
	size_t i;
	int r;

	if (end->node)
		return 0;
	r = outward ? topology_path(topology, memory, rnic, &links)
		    : topology_path(topology, rnic, memory, &links);
	for (i = 0; r == 0 && links[i]; i++)
		append(path, n, xstrdup(links[i]));
	return r;
}

/*
 * Memory, RNIC, cable, fabric, cable, RNIC, memory. A cable has one link per direction, as it may
 * be slow in only one of them.
 */
static char **path_of(const struct pair_end *from, const struct pair_end *to,
		      const struct topology *topology)
{
	CLEANUP(strv_freep) char **path = xcalloc(TOPOLOGY_PATH_MAX + 1, sizeof(*path));
	CLEANUP(freep) char *out = node_id(from);
	CLEANUP(freep) char *in = node_id(to);
	size_t n = 0;

	if (!topology || !out || !in || append_inside(topology, from, true, path, &n) < 0)
		return NULL;
	append(path, &n, xasprintf("%s:%u>fabric", out, from->port));
	append(path, &n, xasprintf("fabric>%s:%u", in, to->port));
	if (append_inside(topology, to, false, path, &n) < 0)
		return NULL;
	return TAKE(path);
}

struct sample pair_sample(const struct pair_end *from, const struct pair_end *to, int check,
			  const struct topology *topology)
{
	CLEANUP(freep) char *source = pair_end_name(from);
	CLEANUP(freep) char *target = pair_end_name(to);
	struct sample s = sample_init();
	enum locality locality;

	s.check = xasprintf("rnic_pair.%s%s", from->gpu ? "gpu_" : "", checks[check].name);
	s.params = from->gpu ? json_pack("{s:s}", "memory", pair_memory_names[PAIR_MEMORY_GPU])
			     : NULL;
	s.unit = xstrdup(checks[check].unit);
	s.better = checks[check].better;
	s.subject = xasprintf("%s>%s", source, target);
	s.from = node_id(from);
	s.to = node_id(to);
	s.code = from->rail == to->rail ? xasprintf("rail:%u", from->rail)
					: xasprintf("rail:%u>%u", from->rail, to->rail);
	if (topology && !from->node && !to->node &&
	    topology_class(topology, s.from, s.to, &locality) == 0)
		s.locality = xstrdup(locality_names[locality]);
	s.path = path_of(from, to, topology);
	return s;
}

void pair_sample_verdict(struct sample *s, const struct pair_verdict *verdict)
{
	s->state = verdict->state;
	s->ok = verdict->ok;
	if (verdict->state == SAMPLE_MEASURED)
		s->value = verdict->ok == TRI_YES;
	s->note = xstrdup(verdict->note);
}
