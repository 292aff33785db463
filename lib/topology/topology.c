/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/topology/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/topology/topology_build.h"

enum { NAME_MAX_BYTES = 80 };

/* Speeds closer than this are equal: sysfs rounds 2.5 and 5 GT/s. */
#define GTS_TOLERANCE 0.01

const char *const topo_type_names[] = {
	[TOPO_NUMA] = "numa",	  [TOPO_GPU] = "gpu",	[TOPO_RNIC] = "rnic",
	[TOPO_SWITCH] = "switch", [TOPO_ROOT] = "root", NULL,
};

const char *const locality_names[] = {
	[LOCALITY_SELF] = "self",	[LOCALITY_PIX] = "pix",
	[LOCALITY_PXB] = "pxb",		[LOCALITY_PHB] = "phb",
	[LOCALITY_NODE] = "node",	[LOCALITY_SYS] = "sys",
	[LOCALITY_VIRTUAL] = "virtual", NULL,
};

const struct topo_node *topology_find(const struct topology *t, const char *id)
{
	size_t i;

	for (i = 0; i < t->n_nodes; i++)
		if (streq(t->nodes[i].id, id))
			return &t->nodes[i];
	return NULL;
}

const struct topo_link *topology_find_link(const struct topology *t, const char *id)
{
	size_t i;

	for (i = 0; i < t->n_links; i++)
		if (streq(t->links[i].id, id))
			return &t->links[i];
	return NULL;
}

/* --- the path between two nodes ------------------------------------------ */

/* Indexes of the links in order (n), and of the nodes along them (n + 1). */
struct route {
	size_t n;
	size_t links[TOPOLOGY_PATH_MAX];
	size_t nodes[TOPOLOGY_PATH_MAX + 1];
};

enum { UNSEEN = -1 };

/* How the search reached a node: by which link, from which node. */
struct step {
	int link, from;
};

static int index_of(const struct topology *t, const char *id)
{
	const struct topo_node *node = topology_find(t, id);

	return node ? (int)(node - t->nodes) : -ENOENT;
}

/* The other end of `link` if `at` is one of its two ends, else NULL. */
static const char *other_end(const struct topo_link *link, const char *at)
{
	if (streq(link->a, link->b))
		return NULL;
	if (streq(link->a, at))
		return link->b;
	return streq(link->b, at) ? link->a : NULL;
}

static bool may_pass(const struct topo_node *node)
{
	return node->type != TOPO_GPU && node->type != TOPO_RNIC;
}

/* Breadth first from `from`; ties are decided by the order of links. */
static void search(const struct topology *t, int from, struct step *steps)
{
	int queue[TOPOLOGY_NODES_MAX];
	size_t head = 0, tail = 0, i;

	for (i = 0; i < t->n_nodes; i++)
		steps[i] = (struct step){ .link = UNSEEN, .from = UNSEEN };
	steps[from].from = from;
	queue[tail++] = from;
	while (head < tail) {
		int at = queue[head++];

		if (at != from && !may_pass(&t->nodes[at]))
			continue;
		for (i = 0; i < t->n_links; i++) {
			const char *end = other_end(&t->links[i], t->nodes[at].id);
			int next = end ? index_of(t, end) : -ENOENT;

			if (next < 0 || steps[next].from != UNSEEN)
				continue;
			steps[next] = (struct step){ .link = (int)i, .from = at };
			queue[tail++] = next;
		}
	}
}

/* Always searches from the node with the smaller index, so that the way back is the same path. */
static int find_route(const struct topology *t, int from, int to, struct route *ret)
{
	struct step steps[TOPOLOGY_NODES_MAX];
	int first = MIN(from, to), at = MAX(from, to);
	struct route route = { .n = 0 };
	size_t i;

	search(t, first, steps);
	if (steps[at].from == UNSEEN)
		return -EHOSTUNREACH;
	for (; at != first; at = steps[at].from) {
		/* Two are reserved for the memory at both ends. */
		if (route.n + 2 >= TOPOLOGY_PATH_MAX)
			return -EHOSTUNREACH;
		route.nodes[route.n] = (size_t)at;
		route.links[route.n++] = (size_t)steps[at].link;
	}
	route.nodes[route.n] = (size_t)first;
	*ret = route;
	if (from > to)
		return 0;
	for (i = 0; i < route.n; i++)
		ret->links[i] = route.links[route.n - 1 - i];
	for (i = 0; i <= route.n; i++)
		ret->nodes[i] = route.nodes[route.n - i];
	return 0;
}

static int route_between(const struct topology *t, const char *from, const char *to,
			 struct route *ret)
{
	int a = index_of(t, from), b = index_of(t, to);

	if (t->n_nodes > TOPOLOGY_NODES_MAX)
		return -E2BIG;
	return a < 0 || b < 0 ? -ENOENT : find_route(t, a, b, ret);
}

/* The link of a NUMA node's memory, or NULL. */
static const struct topo_link *memory_of(const struct topology *t, const char *id)
{
	size_t i;

	for (i = 0; i < t->n_links; i++)
		if (streq(t->links[i].a, id) && streq(t->links[i].b, id))
			return &t->links[i];
	return NULL;
}

int topology_path(const struct topology *t, const char *from, const char *to, char ***ret_links)
{
	const struct topo_link *first = memory_of(t, from), *last = memory_of(t, to);
	struct route route;
	char **links;
	size_t n = 0, i;
	int r = route_between(t, from, to, &route);

	if (r < 0)
		return r;
	links = xcalloc(route.n + 3, sizeof(*links));
	if (route.n && first)
		links[n++] = xstrdup(first->id);
	for (i = 0; i < route.n; i++)
		links[n++] = xstrdup(t->links[route.links[i]].id);
	if (route.n && last)
		links[n++] = xstrdup(last->id);
	*ret_links = links;
	return 0;
}

/* --- how close -------------------------------------------------------------- */

/* What a route passes, including its ends. */
struct met {
	size_t switches, roots, numas;
	const struct topo_node *first_root, *last_root;
};

static struct met meet(const struct topology *t, const struct route *route)
{
	struct met met = { .switches = 0 };
	size_t i;

	for (i = 0; i <= route->n; i++) {
		const struct topo_node *node = &t->nodes[route->nodes[i]];

		met.switches += node->type == TOPO_SWITCH;
		met.numas += node->type == TOPO_NUMA;
		if (node->type != TOPO_ROOT)
			continue;
		met.roots++;
		met.last_root = node;
		if (!met.first_root)
			met.first_root = node;
	}
	return met;
}

/* Root ports of one host bridge have the same address up to the device. */
static bool same_host_bridge(const struct met *met)
{
	const char *a = met->first_root ? met->first_root->pci : NULL;
	const char *b = met->last_root ? met->last_root->pci : NULL;
	const char *end = a ? strrchr(a, ':') : NULL;

	return met->roots == 2 && b && end && strncmp(a, b, (size_t)(end - a) + 1) == 0;
}

static enum locality judge(const struct met *met, bool end_is_memory)
{
	if (met->numas > 1)
		return LOCALITY_SYS;
	if (end_is_memory)
		return LOCALITY_NODE;
	if (met->numas == 1)
		return same_host_bridge(met) ? LOCALITY_PHB : LOCALITY_NODE;
	return met->switches + met->roots > 1 ? LOCALITY_PXB : LOCALITY_PIX;
}

int topology_class(const struct topology *t, const char *from, const char *to, enum locality *ret)
{
	const struct topo_node *a = topology_find(t, from), *b = topology_find(t, to);
	struct route route;
	struct met met;
	int r;

	if (!a || !b)
		return -ENOENT;
	if (a == b) {
		*ret = LOCALITY_SELF;
		return 0;
	}
	if (t->is_virtual && (a->type != TOPO_NUMA || b->type != TOPO_NUMA)) {
		*ret = LOCALITY_VIRTUAL;
		return 0;
	}
	r = route_between(t, from, to, &route);
	if (r < 0)
		return r;
	met = meet(t, &route);
	*ret = judge(&met, a->type == TOPO_NUMA || b->type == TOPO_NUMA);
	return 0;
}

/* --- links --------------------------------------------------------------------- */

double topology_link_bytes_per_s(double gts, uint64_t width)
{
	double share = gts <= 5 + GTS_TOLERANCE	   ? 8.0 / 10
		       : gts <= 32 + GTS_TOLERANCE ? 128.0 / 130
						   : 242.0 / 256;

	return gts * 1e9 / 8 * (double)width * share;
}

bool topology_link_is_slow(const struct topo_link *link)
{
	return (link->gts > 0 && link->gts < link->max_gts - GTS_TOLERANCE) ||
	       (link->width > 0 && link->width < link->max_width);
}

/* --- filling one (topology_build.h) --- */

static void node_release(struct topo_node *node)
{
	free(node->id);
	free(node->name);
	free(node->pci);
}

static void link_release(struct topo_link *link)
{
	free(link->id);
	free(link->a);
	free(link->b);
}

static int refuse_node(const struct topology *t, const char *id, struct err *err)
{
	if (t->n_nodes >= TOPOLOGY_NODES_MAX)
		return err_set(err, E2BIG, "more than %d nodes", TOPOLOGY_NODES_MAX);
	if (topology_find(t, id))
		return err_set(err, EEXIST, "two nodes with the id '%s'", id);
	return 0;
}

int topology_take_node(struct topology *t, struct topo_node node, struct err *err)
{
	int r = refuse_node(t, node.id, err);

	if (r < 0) {
		node_release(&node);
		return r;
	}
	t->nodes = xrealloc(t->nodes, t->n_nodes + 1, sizeof(*t->nodes));
	t->nodes[t->n_nodes++] = node;
	return 0;
}

static int refuse_link(const struct topology *t, const char *id, struct err *err)
{
	if (t->n_links >= TOPOLOGY_LINKS_MAX)
		return err_set(err, E2BIG, "more than %d links", TOPOLOGY_LINKS_MAX);
	if (topology_find_link(t, id))
		return err_set(err, EEXIST, "two links with the id '%s'", id);
	return 0;
}

int topology_take_link(struct topology *t, struct topo_link link, struct err *err)
{
	int r = refuse_link(t, link.id, err);

	if (r < 0) {
		link_release(&link);
		return r;
	}
	t->links = xrealloc(t->links, t->n_links + 1, sizeof(*t->links));
	t->links[t->n_links++] = link;
	return 0;
}

struct topo_link topology_new_link(const char *a, const char *b)
{
	return (struct topo_link){
		.id = xasprintf("%s^%s", a, b),
		.a = xstrdup(a),
		.b = xstrdup(b),
	};
}

char *topology_clean(const char *text)
{
	char *copy = text && *text ? xstrndup(text, NAME_MAX_BYTES) : NULL;
	char *at;

	for (at = copy; at && *at; at++)
		if (*at < ' ' || *at > '~' || *at == '^')
			*at = '?';
	return copy;
}

static int compare_nodes(const void *x, const void *y)
{
	const struct topo_node *a = x, *b = y;
	int by_pci = strcmp(a->pci ? a->pci : "", b->pci ? b->pci : "");

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return by_pci ? by_pci : strverscmp(a->id, b->id);
}

static int compare_links(const void *x, const void *y)
{
	const struct topo_link *a = x, *b = y;

	return strverscmp(a->id, b->id);
}

static void add_number(struct sha256 *s, double value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.9g", value);
	sha256_add_text(s, text);
}

static void add_link(struct sha256 *s, const struct topology *t, const struct topo_link *link)
{
	const struct topo_node *below = topology_find(t, link->a);
	bool idles = below && below->type == TOPO_GPU;

	sha256_add_text(s, link->id);
	sha256_add_text(s, link->a);
	sha256_add_text(s, link->b);
	add_number(s, idles ? 0 : link->gts);
	add_number(s, (double)link->width);
	add_number(s, link->max_gts);
	add_number(s, (double)link->max_width);
}

static void compute_digest(struct topology *t)
{
	struct sha256 s;
	size_t i;

	sha256_init(&s);
	sha256_add_text(&s, t->is_virtual ? "topology/1 virtual" : "topology/1");
	add_number(&s, (double)t->n_nodes);
	for (i = 0; i < t->n_nodes; i++) {
		sha256_add_text(&s, t->nodes[i].id);
		sha256_add_text(&s, topo_type_names[t->nodes[i].type]);
		sha256_add_text(&s, t->nodes[i].name);
		sha256_add_text(&s, t->nodes[i].pci);
	}
	add_number(&s, (double)t->n_links);
	for (i = 0; i < t->n_links; i++)
		add_link(&s, t, &t->links[i]);
	for (i = 0; i < t->n_neighbors; i++) {
		sha256_add_text(&s, t->neighbors[i].rnic);
		sha256_add_text(&s, t->neighbors[i].swtch);
		sha256_add_text(&s, t->neighbors[i].port);
		add_number(&s, t->neighbors[i].source);
	}
	sha256_hex(&s, t->digest);
}

void topology_finish(struct topology *t)
{
	if (t->n_nodes)
		qsort(t->nodes, t->n_nodes, sizeof(*t->nodes), compare_nodes);
	if (t->n_links)
		qsort(t->links, t->n_links, sizeof(*t->links), compare_links);
	compute_digest(t);
}

void topology_release(struct topology *t)
{
	size_t i;

	for (i = 0; i < t->n_nodes; i++)
		node_release(&t->nodes[i]);
	for (i = 0; i < t->n_links; i++)
		link_release(&t->links[i]);
	for (i = 0; i < t->n_neighbors; i++) {
		free(t->neighbors[i].rnic);
		free(t->neighbors[i].swtch);
		free(t->neighbors[i].port);
	}
	free(t->nodes);
	free(t->links);
	free(t->neighbors);
	*t = (struct topology){ 0 };
}
