/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/mesh_topology.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/pci_address.h"

/*
 * Payload part of a PCIe link's rate, the rest being headers and flow control: 0.84 to 0.91 with
 * 256-byte packets; 430 of the 504 Gb/s of x16 generation 5 are reached in practice.
 */
#define PCIE_PAYLOAD 0.85

/*
 * RDMA rates across sockets and of one memory controller set, if nothing better is known: 300 and
 * 900 Gb/s, from hosts with eight 400 Gb/s RNICs. A wrong guess costs more measurements until the
 * culprit is found, but does not blame the wrong link.
 */
#define SOCKET_BYTES_PER_S 37.5e9
#define MEMORY_BYTES_PER_S 112.5e9

enum { NONE = -1, TYPES = TOPO_ROOT + 1 };

struct builder {
	const struct topology *topology; /* or NULL */
	struct mesh *mesh;
	int *links; /* number in the mesh, by number in the topology */
	int *cards; /* the same for slots shared by several RNICs, by the first of them */
	/* Links of hidden paths, by the caller's number. */
	int *hidden_ports, *hidden_ends;
};

static bool is_numa(const struct topology *t, const char *id)
{
	const struct topo_node *node = topology_find(t, id);

	return node && node->type == TOPO_NUMA;
}

double mesh_capacity(const struct topology *t, const struct topo_link *link)
{
	double gts = link->max_gts > 0 ? link->max_gts : link->gts;
	uint64_t width = link->max_width > 0 ? link->max_width : link->width;

	if (streq(link->a, link->b))
		return MEMORY_BYTES_PER_S;
	if (gts > 0 && width > 0)
		return PCIE_PAYLOAD * topology_link_bytes_per_s(gts, width);
	return is_numa(t, link->a) && is_numa(t, link->b) ? SOCKET_BYTES_PER_S : 0;
}

static int link_number(struct builder *b, const char *id)
{
	const struct topo_link *link = topology_find_link(b->topology, id);
	int *number = &b->links[link - b->topology->links];

	if (*number == NONE)
		*number =
			mesh_add_link(b->mesh, (struct mesh_link){
						       .capacity = mesh_capacity(b->topology, link),
						       .is_memory = streq(link->a, link->b),
					       });
	return *number;
}

static int hidden_link(struct builder *b, int *number)
{
	if (*number == NONE)
		*number = mesh_add_link(b->mesh, (struct mesh_link){ .capacity = 0 });
	return *number;
}

/*
 * The topology gives each PCI function a link of its own, although all share one slot. Returns the
 * link of the slot, or NONE if no other RNIC is in it.
 */
static int card_link(struct builder *b, const char *rnic, double capacity)
{
	const struct topology *t = b->topology;
	const struct topo_node *own = topology_find(t, rnic);
	size_t first = t->n_nodes, n = 0, i;

	for (i = 0; own && i < t->n_nodes; i++) {
		if (t->nodes[i].type != TOPO_RNIC || !pci_same_card(own->pci, t->nodes[i].pci))
			continue;
		first = MIN(first, i);
		n++;
	}
	if (n < 2)
		return NONE;
	if (b->cards[first] == NONE)
		b->cards[first] = mesh_add_link(b->mesh, (struct mesh_link){ .capacity = capacity });
	return b->cards[first];
}

/* Fill in the links of the cell; -1 if they are hidden. */
static int find_path(struct builder *b, const struct mesh_ends *e, struct mesh_cell *cell)
{
	CLEANUP(strv_freep) char **path = NULL;
	size_t i;
	int card;

	if (!b->topology || b->topology->is_virtual ||
	    topology_path(b->topology, e->rnic, e->to, &path) < 0)
		return -1;
	for (i = 0; path[i]; i++) {
		int link = i < MESH_PATH_MAX ? link_number(b, path[i]) : NONE;

		if (link == NONE)
			return -1;
		cell->links[cell->n_links++] = (unsigned)link;
	}
	if (cell->n_links == 0 || cell->n_links == MESH_PATH_MAX)
		return cell->n_links > 0 ? 0 : -1;
	card = card_link(b, e->rnic, b->mesh->links[cell->links[0]].capacity);
	if (card != NONE)
		cell->links[cell->n_links++] = (unsigned)card;
	return 0;
}

static unsigned kind_of(const struct topology *t, const struct mesh_ends *e)
{
	const struct topo_node *to = t ? topology_find(t, e->to) : NULL;
	enum locality locality;

	if (!to || topology_class(t, e->rnic, e->to, &locality) < 0)
		return 0;
	return 1 + (unsigned)locality * TYPES + (unsigned)to->type;
}

static void add(struct builder *b, const struct mesh_ends *e)
{
	unsigned links[MESH_PATH_MAX];
	struct mesh_cell cell = {
		.port = e->port,
		.end = e->end,
		.kind = kind_of(b->topology, e),
		.ceiling = e->bytes_per_s,
		.links = links,
	};

	if (find_path(b, e, &cell) < 0) {
		cell.hidden = true;
		cell.links[0] = (unsigned)hidden_link(b, &b->hidden_ports[e->port]);
		cell.links[1] = (unsigned)hidden_link(b, &b->hidden_ends[e->end]);
		cell.n_links = 2;
	}
	(void)mesh_add_cell(b->mesh, &cell);
}

static int *none_of(size_t n)
{
	int *numbers = xcalloc(n + 1, sizeof(*numbers));
	size_t i;

	for (i = 0; i < n; i++)
		numbers[i] = NONE;
	return numbers;
}

void mesh_from_topology(const struct topology *t, const struct mesh_ends *ends, size_t n,
			struct mesh *ret)
{
	struct builder b = { .topology = t, .mesh = ret };
	size_t ports = 0, targets = 0, i;

	*ret = (struct mesh){ .n_cells = 0 };
	for (i = 0; i < n; i++) {
		ports = MAX(ports, (size_t)ends[i].port + 1);
		targets = MAX(targets, (size_t)ends[i].end + 1);
	}
	b.links = none_of(t ? t->n_links : 0);
	b.cards = none_of(t ? t->n_nodes : 0);
	b.hidden_ports = none_of(ports);
	b.hidden_ends = none_of(targets);
	for (i = 0; i < n; i++)
		add(&b, &ends[i]);
	mesh_finish(ret);
	free(b.links);
	free(b.cards);
	free(b.hidden_ports);
	free(b.hidden_ends);
}
