/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology_build.h"

enum { ID_MAX = 128, TEXT_MAX = 256 };

static const char *const source_names[] = { "lldp", "label", "file", NULL };

static const struct jfield node_fields[] = {
	{ "id", J_STRING, offsetof(struct topo_node, id), J_REQUIRED },
	{ "type", J_ENUM, offsetof(struct topo_node, type), J_REQUIRED, .names = topo_type_names },
	{ "name", J_STRING, offsetof(struct topo_node, name), J_NULL },
	{ "pci", J_STRING, offsetof(struct topo_node, pci), J_NULL },
};

/* Generous limits: PCIe 7.0 is 128 GT/s, the widest link x32. */
static const struct jfield link_fields[] = {
	{ "id", J_STRING, offsetof(struct topo_link, id), J_REQUIRED },
	{ "a", J_STRING, offsetof(struct topo_link, a), J_REQUIRED },
	{ "b", J_STRING, offsetof(struct topo_link, b), J_REQUIRED },
	{ "gts", J_REAL, offsetof(struct topo_link, gts), 0, .min = 0, .max = 1024 },
	{ "width", J_U64, offsetof(struct topo_link, width), 0, .min = 0, .max = 64 },
	{ "max_gts", J_REAL, offsetof(struct topo_link, max_gts), 0, .min = 0, .max = 1024 },
	{ "max_width", J_U64, offsetof(struct topo_link, max_width), 0, .min = 0, .max = 64 },
};

static const struct jfield neighbor_fields[] = {
	{ "rnic", J_STRING, offsetof(struct topo_neighbor, rnic), J_REQUIRED },
	{ "switch", J_STRING, offsetof(struct topo_neighbor, swtch), J_REQUIRED },
	{ "port", J_STRING, offsetof(struct topo_neighbor, port), 0 },
	{ "source", J_ENUM, offsetof(struct topo_neighbor, source), J_REQUIRED,
	  .names = source_names },
};

/* Text for terminals and paths: short, without control characters. */
static int check_text(const struct jval *item, const char *key, const char *text, struct err *err)
{
	struct jval v = jval_get(item, key);
	size_t limit = streq(key, "id") ? ID_MAX * 2 + 1 : TEXT_MAX, i;

	for (i = 0; text && text[i]; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return jval_fail(&v, err, "a control character");
	return i > limit ? jval_fail(&v, err, "longer than %zu bytes", limit) : 0;
}

static int check_id(const struct jval *item, const char *id, struct err *err)
{
	struct jval v = jval_get(item, "id");

	if (!*id)
		return jval_fail(&v, err, "empty");
	return check_text(item, "id", id, err);
}

static int check_node(const struct jval *item, const struct topology *t,
		      const struct topo_node *node, struct err *err)
{
	struct jval id = jval_get(item, "id");
	int r = check_id(item, node->id, err);

	if (r == 0 && strlen(node->id) > ID_MAX)
		r = jval_fail(&id, err, "longer than %d bytes", ID_MAX);
	if (r == 0 && strchr(node->id, '^'))
		r = jval_fail(&id, err,
			      "'^' joins the ends of a link and cannot be in the id of a node");
	if (r == 0 && topology_find(t, node->id))
		r = jval_fail(&id, err, "'%s' is listed twice", node->id);
	if (r == 0)
		r = check_text(item, "name", node->name, err);
	return r == 0 ? check_text(item, "pci", node->pci, err) : r;
}

static int decode_node(const struct jval *item, struct topology *t, struct err *err)
{
	struct topo_node node = { .id = NULL };
	int r = jval_decode(item, node_fields, ARRAY_SIZE(node_fields), 0, &node, err);

	if (r == 0)
		r = check_node(item, t, &node, err);
	if (r == 0)
		return topology_take_node(t, node, err);
	free(node.id);
	free(node.name);
	free(node.pci);
	return r;
}

static int check_end(const struct jval *item, const struct topology *t, const char *key,
		     const char *id, struct err *err)
{
	struct jval v = jval_get(item, key);

	return topology_find(t, id) ? 0 : jval_fail(&v, err, "no node '%.*s'", ID_MAX, id);
}

static int check_link(const struct jval *item, const struct topology *t,
		      const struct topo_link *link, struct err *err)
{
	struct jval id = jval_get(item, "id"), end = jval_get(item, "b");
	int r = check_id(item, link->id, err);

	if (r == 0 && topology_find_link(t, link->id))
		r = jval_fail(&id, err, "'%s' is listed twice", link->id);
	if (r == 0)
		r = check_end(item, t, "a", link->a, err);
	if (r == 0)
		r = check_end(item, t, "b", link->b, err);
	if (r == 0 && streq(link->a, link->b) && topology_find(t, link->a)->type != TOPO_NUMA)
		r = jval_fail(&end, err, "a link from '%s' to itself", link->a);
	return r;
}

static int decode_link(const struct jval *item, struct topology *t, struct err *err)
{
	struct topo_link link = { .id = NULL };
	int r = jval_decode(item, link_fields, ARRAY_SIZE(link_fields), 0, &link, err);

	if (r == 0)
		r = check_link(item, t, &link, err);
	if (r == 0)
		return topology_take_link(t, link, err);
	free(link.id);
	free(link.a);
	free(link.b);
	return r;
}

static int decode_neighbor(const struct jval *item, struct topology *t, struct err *err)
{
	struct topo_neighbor *n;
	int r;

	t->neighbors = xrealloc(t->neighbors, t->n_neighbors + 1, sizeof(*t->neighbors));
	n = &t->neighbors[t->n_neighbors++];
	*n = (struct topo_neighbor){ .rnic = NULL };
	r = jval_decode(item, neighbor_fields, ARRAY_SIZE(neighbor_fields), 0, n, err);
	if (r == 0)
		r = check_text(item, "rnic", n->rnic, err);
	if (r == 0)
		r = check_text(item, "switch", n->swtch, err);
	return r == 0 ? check_text(item, "port", n->port, err) : r;
}

static const struct {
	const char *key;
	size_t max;
	bool required;
	int (*decode)(const struct jval *item, struct topology *t, struct err *err);
} lists[] = {
	{ "nodes", TOPOLOGY_NODES_MAX, true, decode_node },
	{ "links", TOPOLOGY_LINKS_MAX, true, decode_link },
	{ "neighbors", TOPOLOGY_NODES_MAX, false, decode_neighbor },
};

static int decode_list(const struct jval *v, size_t which, struct topology *t, struct err *err)
{
	struct jval list = jval_get(v, lists[which].key);
	size_t n = json_array_size(list.value), i;
	int r;

	if (!list.value && !lists[which].required)
		return 0;
	r = jval_need_array(&list, err);
	if (r == 0 && n > lists[which].max)
		r = jval_fail(&list, err, "%zu items, more than %zu", n, lists[which].max);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(&list, i);

		r = lists[which].decode(&item, t, err);
	}
	return r;
}

/* True if a device is attached to a NUMA node directly: then the bridges are hidden. */
static bool hides_bridges(const struct topology *t)
{
	size_t i;

	for (i = 0; i < t->n_links; i++) {
		int a = topology_find(t, t->links[i].a)->type;
		int b = topology_find(t, t->links[i].b)->type;

		if ((a == TOPO_GPU || a == TOPO_RNIC) && b == TOPO_NUMA)
			return true;
	}
	return false;
}

static int decode_virtual(const struct jval *v, struct topology *t, struct err *err)
{
	struct jval is_virtual = jval_get(v, "virtual");

	if (!is_virtual.value) {
		t->is_virtual = hides_bridges(t);
		return 0;
	}
	if (!json_is_boolean(is_virtual.value))
		return jval_fail(&is_virtual, err, "expected true or false, not %s",
				 jval_type_name(&is_virtual));
	t->is_virtual = json_is_true(is_virtual.value);
	return 0;
}

static int check_header(const struct jval *v, struct err *err)
{
	struct jval version = jval_get(v, "v"), kind = jval_get(v, "kind");
	int r = jval_need_object(v, err);

	if (r < 0)
		return r;
	if (!json_is_integer(version.value) || json_integer_value(version.value) != 1)
		return jval_fail(&version, err, "expected 1");
	if (!streq(json_string_value(kind.value), "topology"))
		return jval_fail(&kind, err, "expected \"topology\"");
	return 0;
}

int topology_decode(const struct jval *v, struct topology *ret, struct err *err)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	int r = check_header(v, err);
	size_t i;

	for (i = 0; r == 0 && i < ARRAY_SIZE(lists); i++)
		r = decode_list(v, i, &t, err);
	if (r == 0)
		r = decode_virtual(v, &t, err);
	if (r < 0)
		return r;
	topology_finish(&t);
	*ret = t;
	t = (struct topology){ .n_nodes = 0 };
	return 0;
}

json_t *topology_encode(const struct topology *t)
{
	json_t *nodes = json_array(), *links = json_array(), *neighbors = json_array();
	size_t i;

	for (i = 0; i < t->n_nodes; i++)
		json_array_append_new(
			nodes, jval_encode(node_fields, ARRAY_SIZE(node_fields), &t->nodes[i]));
	for (i = 0; i < t->n_links; i++)
		json_array_append_new(
			links, jval_encode(link_fields, ARRAY_SIZE(link_fields), &t->links[i]));
	for (i = 0; i < t->n_neighbors; i++)
		json_array_append_new(neighbors,
				      jval_encode(neighbor_fields, ARRAY_SIZE(neighbor_fields),
						  &t->neighbors[i]));
	return json_pack("{s:i, s:s, s:s, s:b, s:o, s:o, s:o}", "v", 1, "kind", "topology",
			 "digest", t->digest, "virtual", t->is_virtual, "nodes", nodes, "links",
			 links, "neighbors", neighbors);
}
