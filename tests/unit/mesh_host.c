/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/mesh_host.h"

#include <stdio.h>

#include "lib/base/xalloc.h"
#include "lib/topology/topology_build.h"
#include "tests/unit/test.h"

#define GBIT 0.125e9 /* bytes per second */

static void add_node(struct topology *t, int type, const char *id)
{
	CHECK_EQ(topology_take_node(t, (struct topo_node){ .id = xstrdup(id), .type = type }, NULL),
		 0);
}

static void add_link(struct topology *t, const char *a, const char *b, double gts, uint64_t width)
{
	struct topo_link link = topology_new_link(a, b);

	link.gts = link.max_gts = gts;
	link.width = link.max_width = width;
	CHECK_EQ(topology_take_link(t, link, NULL), 0);
}

static void add_end(struct mesh_host *h, const char *id)
{
	if (h->n_ends < HOST_ENDS_MAX)
		(void)snprintf(h->ends[h->n_ends++], HOST_NAME, "%s", id);
}

static void add_rnic(struct mesh_host *h, const char *id, double rate)
{
	if (h->n_rnics == HOST_PORTS_MAX)
		return;
	h->rates[h->n_rnics] = rate;
	(void)snprintf(h->rnics[h->n_rnics++], HOST_NAME, "%s", id);
}

static void name(char ret[static HOST_NAME], const char *type, size_t i)
{
	(void)snprintf(ret, HOST_NAME, "%s:%zu", type, i);
}

static void add_sockets(struct mesh_host *h, size_t n)
{
	char a[HOST_NAME], b[HOST_NAME];
	size_t i, j;

	for (i = 0; i < n; i++) {
		name(a, "numa", i);
		add_node(&h->topology, TOPO_NUMA, a);
		add_link(&h->topology, a, a, 0, 0);
		add_end(h, a);
		for (j = 0; j < i; j++) {
			name(b, "numa", j);
			add_link(&h->topology, b, a, 0, 0);
		}
	}
}

void mesh_host_standard(struct mesh_host *ret)
{
	char numa[HOST_NAME], root[HOST_NAME], sw[HOST_NAME], device[HOST_NAME];
	size_t i;

	*ret = (struct mesh_host){ .n_ends = 0 };
	add_sockets(ret, 2);
	for (i = 0; i < 8; i++) {
		name(root, "root", i / 2);
		name(sw, "switch", i / 2);
		if (i % 2 == 0) {
			name(numa, "numa", i / 4);
			add_node(&ret->topology, TOPO_ROOT, root);
			add_node(&ret->topology, TOPO_SWITCH, sw);
			add_link(&ret->topology, root, numa, 0, 0);
			add_link(&ret->topology, sw, root, 32, 16);
		}
		(void)snprintf(device, sizeof(device), "rnic:mlx5_%zu", i);
		add_node(&ret->topology, TOPO_RNIC, device);
		add_link(&ret->topology, device, sw, 32, 16);
		add_rnic(ret, device, 400 * GBIT);
		name(device, "gpu", i);
		add_node(&ret->topology, TOPO_GPU, device);
		add_link(&ret->topology, device, sw, 32, 16);
		add_end(ret, device);
	}
	topology_finish(&ret->topology);
}

/* --- random hosts -------------------------------------------------------------- */

/* Adds a PCIe link of random or unknown speed. */
static void add_any_link(struct random *r, struct topology *t, const char *a, const char *b)
{
	static const double speeds[] = { 0, 8, 16, 32, 32, 64 };
	static const uint64_t widths[] = { 4, 8, 16, 16, 16 };
	double gts = speeds[random_below(r, ARRAY_SIZE(speeds))];

	add_link(t, a, b, gts, gts > 0 ? widths[random_below(r, ARRAY_SIZE(widths))] : 0);
}

static void add_any_device(struct random *r, struct mesh_host *h, const char *above)
{
	static const double rates[] = { 0, 100 * GBIT, 200 * GBIT, 400 * GBIT, 400 * GBIT };
	bool is_rnic = random_below(r, 2) == 0;
	size_t n = h->topology.n_nodes;
	double rate = rates[random_below(r, ARRAY_SIZE(rates))];
	char id[HOST_NAME];

	(void)snprintf(id, sizeof(id), is_rnic ? "rnic:mlx5_%zu" : "gpu:%zu", n);
	/* Sometimes one that is missing from the topology. */
	if (random_below(r, 20) > 0) {
		add_node(&h->topology, is_rnic ? TOPO_RNIC : TOPO_GPU, id);
		add_any_link(r, &h->topology, id, above);
	}
	if (!is_rnic)
		add_end(h, id);
	else
		add_rnic(h, id, rate);
	if (is_rnic && random_below(r, 10) == 0)
		add_rnic(h, id, rate); /* its second port */
}

static void add_any_root(struct random *r, struct mesh_host *h, size_t socket)
{
	char above[HOST_NAME], id[HOST_NAME];
	size_t depth = random_below(r, 3), devices = 1 + random_below(r, 4), i;

	name(above, "numa", socket);
	name(id, "root", h->topology.n_nodes);
	add_node(&h->topology, TOPO_ROOT, id);
	add_link(&h->topology, id, above, 0, 0);
	for (i = 0; i < depth; i++) {
		(void)snprintf(above, sizeof(above), "%s", id);
		name(id, "switch", h->topology.n_nodes);
		add_node(&h->topology, TOPO_SWITCH, id);
		add_any_link(r, &h->topology, id, above);
	}
	for (i = 0; i < (depth ? devices : 1); i++)
		add_any_device(r, h, id);
}

void mesh_host_random(struct random *r, struct mesh_host *ret)
{
	size_t sockets = 1 + random_below(r, 4), roots = 1 + random_below(r, 3), i, j;

	*ret = (struct mesh_host){ .n_ends = 0 };
	add_sockets(ret, sockets);
	for (i = 0; i < sockets; i++) {
		for (j = 0; j < roots; j++)
			add_any_root(r, ret, i);
	}
	if (random_below(r, 5) == 0)
		add_end(ret, "numa:9");
	topology_finish(&ret->topology);
}

void mesh_host_release(struct mesh_host *h)
{
	topology_release(&h->topology);
}

size_t mesh_host_cells(const struct mesh_host *h, struct mesh_ends *ret)
{
	size_t n = 0, i, j;

	for (i = 0; i < h->n_rnics; i++) {
		for (j = 0; j < h->n_ends; j++)
			ret[n++] = (struct mesh_ends){ .port = (unsigned)i,
						       .end = (unsigned)j,
						       .rnic = h->rnics[i],
						       .to = h->ends[j],
						       .bytes_per_s = h->rates[i] };
	}
	return n;
}
