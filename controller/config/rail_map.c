/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/rail_map.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/pairing/pairing.h"

enum { ADDRESS_MAX = 253, NAME_MAX_BYTES = 200 };

struct rail_map_switch {
	char *name;
	char **nodes;	/* names or patterns */
	unsigned rails; /* bit set; 0: all */
};

/* A name or pattern, and the index of its switch. */
struct rail_map_name {
	const char *node; /* borrowed from the switch */
	size_t at;
};

/* --- finding --- */

static bool is_pattern(const char *node)
{
	return strpbrk(node, "*?[\\") != NULL;
}

/* Names before patterns; names sorted. */
static int compare_names(const void *a, const void *b)
{
	const struct rail_map_name *x = a, *y = b;
	const bool patterns[] = { is_pattern(x->node), is_pattern(y->node) };

	if (patterns[0] != patterns[1])
		return patterns[0] ? 1 : -1;
	return patterns[0] ? 0 : strcmp(x->node, y->node);
}

static void index_names(struct rail_map *n)
{
	size_t all = 0, i, j;

	for (i = 0; i < n->n_switches; i++)
		all += strv_len(n->switches[i].nodes);
	n->names = xcalloc(all + 1, sizeof(*n->names));
	for (i = 0; i < n->n_switches; i++) {
		for (j = 0; n->switches[i].nodes[j]; j++) {
			const char *node = n->switches[i].nodes[j];

			n->names[n->n_names + n->n_patterns] = (struct rail_map_name){ node, i };
			n->n_patterns += is_pattern(node);
			n->n_names += !is_pattern(node);
		}
	}
	if (all > 1)
		qsort(n->names, all, sizeof(*n->names), compare_names);
}

/* Index of the first entry of this name, or where it would be. */
static size_t first_of(const struct rail_map *n, const char *node)
{
	size_t low = 0, high = n->n_names;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (strcmp(n->names[mid].node, node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* --- reading --- */

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_is_integer(v->value) && json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "expected 1: this program reads version 1 only");
}

static int decode_nodes(const struct jval *v, void *member, struct err *err)
{
	char **nodes = NULL;
	int r = jval_strv(v, RAIL_MAP_NODES_MAX, &nodes, err);

	if (r < 0)
		return r;
	strv_free(*(char ***)member);
	*(char ***)member = nodes;
	return strv_len(nodes) == 0 ? jval_fail(v, err, "must name a host") : 0;
}

static int decode_rails(const struct jval *v, void *member, struct err *err)
{
	unsigned *rails = member;
	size_t i;
	int r = jval_need_array(v, err);

	*rails = 0;
	for (i = 0; r == 0 && i < json_array_size(v->value); i++) {
		struct jval item = jval_at(v, i);
		json_int_t rail = json_is_integer(item.value) ? json_integer_value(item.value) : -1;

		if (rail < 0 || rail >= PAIRING_RAILS_MAX)
			return jval_fail(&item, err, "expected a rail, 0 to %d",
					 PAIRING_RAILS_MAX - 1);
		*rails |= 1U << rail;
	}
	return r == 0 && *rails == 0
		       ? jval_fail(v, err, "expected a rail; leave the key out for all rails")
		       : r;
}

#define SWITCH(member) offsetof(struct rail_map_switch, member)

static const struct jfield switch_fields[] = {
	{ "name", J_STRING, SWITCH(name), J_REQUIRED },
	{ "nodes", J_CUSTOM, SWITCH(nodes), J_REQUIRED, .decode = decode_nodes },
	{ "rails", J_CUSTOM, SWITCH(rails), 0, .decode = decode_rails },
};

static void switch_release(struct rail_map_switch *s)
{
	free(s->name);
	strv_free(s->nodes);
}

static int decode_switch(const struct jval *item, struct rail_map_switch *ret, struct err *err)
{
	const struct jval name = jval_get(item, "name");
	int r = jval_decode(item, switch_fields, ARRAY_SIZE(switch_fields), JVAL_STRICT, ret, err);

	if (r == 0 && (!ret->name || !ret->name[0] || strlen(ret->name) > NAME_MAX_BYTES))
		return jval_fail(&name, err, "expected 1 to %d bytes", NAME_MAX_BYTES);
	return r;
}

static int decode_switches(const struct jval *v, void *member, struct err *err)
{
	struct rail_map *n =
		(struct rail_map *)((char *)member - offsetof(struct rail_map, switches));
	size_t count = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && count > RAIL_MAP_SWITCHES_MAX)
		return jval_fail(v, err, "%zu entries, more than %d", count, RAIL_MAP_SWITCHES_MAX);
	if (r < 0)
		return r;
	n->switches = xcalloc(count + 1, sizeof(*n->switches));
	for (i = 0; r == 0 && i < count; i++) {
		struct jval item = jval_at(v, i);

		n->n_switches = i + 1;
		r = decode_switch(&item, &n->switches[i], err);
	}
	return r;
}

/* Valid in a comma-separated list, followed by a port. */
static bool is_address(const char *text)
{
	const size_t n = text ? strlen(text) : 0;

	if (n == 0 || n > ADDRESS_MAX || strpbrk(text, " \t,/\"'"))
		return false;
	return !strchr(text, ':') || (text[0] == '[' && text[n - 1] == ']');
}

static int decode_addresses(const struct jval *v, void *member, struct err *err)
{
	const char *key;
	json_t *value;
	int r = jval_need_object(v, err);

	if (r < 0)
		return r;
	json_object_foreach((json_t *)(uintptr_t)v->value, key, value)
	{
		struct jval item = jval_get(v, key);

		if (!is_address(json_string_value(value)))
			return jval_fail(
				&item, err,
				"expected a name or an address without a port, such as 10.0.0.17 "
				"or [fd00::17]");
	}
	json_decref(*(json_t **)member);
	*(json_t **)member = json_deep_copy(v->value);
	return 0;
}

#define AT(member) offsetof(struct rail_map, member)

static const struct jfield fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "switches", J_CUSTOM, AT(switches), 0, .decode = decode_switches },
	{ "addresses", J_CUSTOM, AT(addresses), 0, .decode = decode_addresses },
};

int rail_map_read(const char *path, struct rail_map *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(rail_map_release) struct rail_map n = { 0 };
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &n, err);
	if (r < 0)
		return r;
	index_names(&n);
	*ret = n;
	n = (struct rail_map){ 0 };
	return 0;
}

void rail_map_release(struct rail_map *n)
{
	size_t i;

	for (i = 0; i < n->n_switches; i++)
		switch_release(&n->switches[i]);
	free(n->switches);
	free(n->names);
	json_decref(n->addresses);
	*n = (struct rail_map){ 0 };
}

/* --- queries --- */

/* Take switch `at` for each of its rails without an earlier one. */
static void take(const struct rail_map *n, size_t at, size_t best[PAIRING_RAILS_MAX])
{
	const unsigned rails = n->switches[at].rails;
	size_t rail;

	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
		if (rails == 0 || rails & (1U << rail))
			best[rail] = MIN(best[rail], at);
	}
}

bool rail_map_switches(const struct rail_map *n, const char *node,
		       const char *ret_switch[PAIRING_RAILS_MAX])
{
	size_t best[PAIRING_RAILS_MAX], rail, i;
	bool any = false;

	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		best[rail] = n->n_switches;
	for (i = first_of(n, node); i < n->n_names && streq(n->names[i].node, node); i++)
		take(n, n->names[i].at, best);
	for (i = n->n_names; i < n->n_names + n->n_patterns; i++) {
		if (fnmatch(n->names[i].node, node, 0) == 0)
			take(n, n->names[i].at, best);
	}
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
		ret_switch[rail] = best[rail] < n->n_switches ? n->switches[best[rail]].name : NULL;
		any |= ret_switch[rail] != NULL;
	}
	return any;
}

const char *rail_map_address(const struct rail_map *n, const char *node)
{
	return json_string_value(json_object_get(n->addresses, node));
}
