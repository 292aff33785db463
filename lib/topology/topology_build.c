/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/topology/topology_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"

enum { NAME_MAX_BYTES = 80 };

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
