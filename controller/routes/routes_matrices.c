/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements between parts of a host, as matrices; and the parts, from their newest reports. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/controller.h"
#include "controller/fleet/baseline.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "controller/store/store_part_names.h"
#include "controller/store/store_topology.h"
#include "lib/base/err.h"
#include "lib/base/pool.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/heat.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/host_parts.h"
#include "lib/report/report.h"
#include "lib/topology/topology.h"

/* Maximum number of links from a part up to its NUMA node. */
enum { CLIMB_MAX = 16 };

/* Data about one host. */
struct host_known {
	struct report reports[STORE_PROFILES_MAX]; /* the newest of each profile, newest first */
	int n;
	struct pool pool; /* texts of the verdict */
	struct verdict verdict;
	const struct verdict_item **items; /* its items, by check and subject */
	struct host_parts parts;
};

static void host_known_release(struct host_known *k)
{
	int i;

	for (i = 0; i < k->n; i++)
		report_release(&k->reports[i]);
	free(k->items);
	verdict_release(&k->verdict);
	pool_release(&k->pool);
	host_parts_release(&k->parts);
}

static int compare_items(const void *a, const void *b)
{
	const struct verdict_item *x = *(const struct verdict_item *const *)a;
	const struct verdict_item *y = *(const struct verdict_item *const *)b;
	const int r = strcmp(x->check, y->check);

	return r ? r : strcmp(x->subject, y->subject);
}

static const struct verdict_item *item_of(const struct host_known *k, char *check, char *subject)
{
	const struct verdict_item key = { .check = check, .subject = subject };
	const struct verdict_item *wanted = &key;
	const struct verdict_item **found = bsearch(&wanted, k->items, k->verdict.n_items,
						    sizeof(struct verdict_item *), compare_items);

	return found ? *found : NULL;
}

/* Skips bodies that were deleted, or compressed by a build with other codings. */
static void read_report(struct service *s, const struct store_body *body, struct host_known *k)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_MAX);
	const struct packed packed = { body->coding, body->bytes, body->length };

	if (pack_open(&packed, &text, NULL) == 0 &&
	    report_read(strbuf_text(&text), text.len, &s->memo, &k->reports[k->n], NULL) == 0)
		k->n++;
}

static int read_reports(struct service *s, const char *node, struct host_known *k, struct err *err)
{
	struct store_body bodies[STORE_PROFILES_MAX];
	int n = store_bodies(s->store, node, bodies, STORE_PROFILES_MAX, err), i;

	for (i = 0; i < n; i++) {
		read_report(s, &bodies[i], k);
		free(bodies[i].bytes);
	}
	return MIN(n, 0);
}

/* -ENOENT for a host that never reported. */
static int read_known(struct service *s, const char *node, struct host_known *k, struct err *err)
{
	int r = routes_need_node(s, node, err);
	size_t i;

	if (r == 0)
		r = routes_merge_runs(s, node, &k->pool, &k->verdict, err);
	if (r == 0)
		r = store_part_names(s->store, node, &k->parts, err);
	if (r < 0)
		return r;
	k->items = xcalloc(k->verdict.n_items + 1, sizeof(struct verdict_item *));
	for (i = 0; i < k->verdict.n_items; i++)
		k->items[i] = &k->verdict.items[i];
	qsort(k->items, k->verdict.n_items, sizeof(struct verdict_item *), compare_items);
	return 0;
}

/* --- matrices --- */

/* Ends refer to a GPU by slot, and to a port by ID. */
static const struct host_part *part_of(const struct host_known *k, const char *end)
{
	size_t i;

	for (i = 0; i < k->parts.n; i++) {
		const struct host_part *part = &k->parts.all[i];

		if (streq(part->id, end) ||
		    (host_part_is_gpu(part) && part->pci[0] && starts_with(end, "gpu:") &&
		     streq(part->pci, end + strlen("gpu:"))))
			return part;
	}
	return NULL;
}

static json_t *end_json(const struct host_known *k, const char *end)
{
	const struct host_part *part = part_of(k, end);
	json_t *value = part ? host_part_encode(part) : json_object();

	(void)json_object_set_new(value, "id", json_string(end));
	if (part)
		return value;
	(void)json_object_set_new(value, "name", json_string(end));
	(void)json_object_set_new(value, "kind", json_stringn(end, strcspn(end, ":*")));
	return value;
}

static json_t *side_json(const struct host_known *k, char *const *ends, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, end_json(k, ends[i]));
	return list;
}

/* What a cell is compared with. */
struct held {
	double expected, floor;
	const char *source; /* NULL: the median of its kind in the matrix */
};

/* From its item in the verdict; passed items store no numbers, so for them it is what other hosts
 * reach now. */
static struct held held_of(const struct service *s, const struct report *report,
			   const struct heat_cell *cell, const struct verdict_item *item)
{
	struct expectation e;
	struct measure m;

	if (item && isfinite(item->expected))
		return (struct held){ item->expected, item->floor,
				      verdict_source_names[item->source] };
	if (measure_of(cell->sample, &m) &&
	    baselines_expect(&s->baselines, report, cell->sample, &m, NULL, &e))
		return (struct held){ e.expected, e.floor, verdict_source_names[SOURCE_FLEET] };
	return (struct held){ cell->expected, NAN, NULL };
}

static double ratio_of(const struct sample *s, const struct held *held, double otherwise)
{
	if (!held->source || s->state != SAMPLE_MEASURED || s->better == BETTER_NONE ||
	    !(s->value > 0) || !(held->expected > 0))
		return otherwise;
	return s->better == BETTER_LOWER ? held->expected / s->value : s->value / held->expected;
}

static json_t *cell_json(const struct heat *h, size_t nth, const struct verdict_item *item,
			 const struct held *held)
{
	const struct heat_cell *cell = &h->cells[nth];
	const struct sample *s = cell->sample;
	const bool measured = s->state == SAMPLE_MEASURED;

	return json_pack(
		"{s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "row",
		(json_int_t)(nth / h->n_columns), "column", (json_int_t)(nth % h->n_columns),
		"subject", s->subject, "state", sample_state_names[s->state], "value",
		json_number(measured ? s->value : NAN), "class", json_text(s->locality), "expected",
		json_number(held->expected), "floor", json_number(held->floor), "ratio",
		json_number(ratio_of(s, held, cell->ratio)), "verdict",
		item ? json_string(verdict_level_names[item->level]) : json_null(), "source",
		json_text(held->source), "link", json_text(item ? item->link : NULL), "sentence",
		json_text(item && item->level != VERDICT_PASS ? item->sentence : NULL));
}

static json_t *matrix_json(const struct service *service, const struct host_known *k,
			   const struct report *report, const struct heat *h, size_t *ret_slow)
{
	const size_t n = h->n_rows * h->n_columns;
	json_t *cells = json_array();
	int better = BETTER_NONE;
	size_t i;

	*ret_slow = 0;
	for (i = 0; i < n; i++) {
		const struct sample *s = h->cells[i].sample;
		const struct verdict_item *item = s ? item_of(k, s->check, s->subject) : NULL;
		struct held held;

		if (!s)
			continue;
		held = held_of(service, report, &h->cells[i], item);
		better = s->better;
		*ret_slow += item && item->level >= VERDICT_WARN;
		(void)json_array_append_new(cells, cell_json(h, i, item, &held));
	}
	return json_pack("{s:s, s:o, s:s, s:s, s:o, s:I, s:o, s:o, s:o}", "check", h->check, "unit",
			 json_text(h->unit[0] ? h->unit : NULL), "better",
			 sample_better_names[better], "profile", report->profile, "time",
			 json_text(report->time), "slow", (json_int_t)*ret_slow, "rows",
			 side_json(k, h->rows, h->n_rows), "columns",
			 side_json(k, h->columns, h->n_columns), "cells", cells);
}

/* Was it in a newer report? */
static bool has_matrix(const json_t *list, const struct heat *h)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *unit = json_string_value(json_object_get(one, "unit"));

		if (streq(json_string_value(json_object_get(one, "check")), h->check) &&
		    streq(unit ? unit : "", h->unit))
			return true;
	}
	return false;
}

/* Append the matrices of a report to `bad` or `good`. */
static void add_matrices(const struct service *s, const struct host_known *k,
			 const struct report *report, json_t *bad, json_t *good, size_t *left_out)
{
	const struct localise_input input = { .samples = { report->samples, report->n_samples } };
	CLEANUP(heats_release) struct heats heats = { 0 };
	size_t slow, i;

	heats_build(&input, &heats);
	*left_out += heats.left_out;
	for (i = 0; i < heats.n; i++) {
		json_t *matrix;

		if (has_matrix(bad, &heats.v[i]) || has_matrix(good, &heats.v[i]))
			continue;
		matrix = matrix_json(s, k, report, &heats.v[i], &slow);
		(void)json_array_append_new(slow > 0 ? bad : good, matrix);
	}
}

static json_t *links_json(const struct host_known *k)
{
	CLEANUP(json_freep) json_t *whole = verdict_encode(&k->verdict);
	json_t *items = json_object_get(whole, "items"), *links = json_array();
	size_t i;

	for (i = 0; i < json_array_size(items) && i < k->verdict.n_items; i++) {
		const struct verdict_item *item = &k->verdict.items[i];

		if (item->level != VERDICT_PASS && verdict_item_is_link(item))
			(void)json_array_append(links, json_array_get(items, i));
	}
	return links;
}

void routes_matrices_get(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(host_known_release) struct host_known k = { .n = 0 };
	CLEANUP(json_freep) json_t *bad = json_array();
	CLEANUP(json_freep) json_t *good = json_array();
	struct err err = ERR_INIT;
	size_t left_out = 0;
	int r = read_known(s, call_segment(call), &k, &err), i;

	if (r == 0)
		r = read_reports(s, call_segment(call), &k, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	for (i = 0; i < k.n; i++)
		add_matrices(s, &k, &k.reports[i], bad, good, &left_out);
	(void)json_array_extend(bad, good);
	call_reply(call, 200,
		   json_pack("{s:s, s:O, s:o, s:I}", "node", call_segment(call), "matrices", bad,
			     "links", links_json(&k), "left_out", (json_int_t)left_out));
}

/* --- parts --- */

/* The topology named in the host's newest report; false: unknown. */
static bool topology_of(struct service *s, const char *digest, struct topology *ret)
{
	CLEANUP(freep) char *body = NULL;
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	if (!digest || store_topology(s->store, digest, &body, NULL) < 0 ||
	    json_parse(body, strlen(body), "topology", &value, NULL) < 0)
		return false;
	root = jval_root(value, "topology");
	return topology_decode(&root, ret, NULL) == 0;
}

static const struct topo_link *link_up(const struct topology *t, const char *id)
{
	size_t i;

	for (i = 0; i < t->n_links; i++) {
		if (streq(t->links[i].a, id) && !streq(t->links[i].a, t->links[i].b))
			return &t->links[i];
	}
	return NULL;
}

static json_t *numa_of(const struct topology *t, const char *id)
{
	int i;

	for (i = 0; i < CLIMB_MAX && id && !starts_with(id, "numa:"); i++) {
		const struct topo_link *up = link_up(t, id);

		id = up ? up->b : NULL;
	}
	return id && starts_with(id, "numa:") ? json_integer(strtol(id + strlen("numa:"), NULL, 10))
					      : json_null();
}

static json_t *speed(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static void add_place(const struct topology *t, const struct host_part *part, json_t *value)
{
	CLEANUP(freep)
	char *id = host_part_is_gpu(part)
			   ? xasprintf("gpu:%s", part->pci)
			   : xasprintf("rnic:%.*s", host_part_device_length(part), part->id);
	const struct topo_link *up = t ? link_up(t, id) : NULL;

	(void)json_object_set_new(value, "numa", t ? numa_of(t, id) : json_null());
	(void)json_object_set_new(value, "link",
				  up ? json_pack("{s:o, s:o, s:o, s:o}", "gts", speed(up->gts),
						 "width", speed((double)up->width), "max_gts",
						 speed(up->max_gts), "max_width",
						 speed((double)up->max_width))
				     : json_null());
}

/* Is it the subject, or one end of it? */
static bool names(const char *subject, const char *id)
{
	const size_t length = strlen(id);
	const char *at = subject;

	while ((at = strstr(at, id)) != NULL) {
		const char before = at == subject ? '>' : at[-1], after = at[length];

		if (before == '>' && (after == '\0' || after == '>' || after == '*'))
			return true;
		at += length;
	}
	return false;
}

/* Items are sorted worst first; those explained by a link do not count for the part. */
static const struct verdict_item *worst_of(const struct verdict *v, const char *id)
{
	const struct verdict_item *worst = NULL;
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (!item->link && names(item->subject, id) &&
		    (!worst || item->level > worst->level))
			worst = item;
	}
	return worst;
}

static json_t *part_json(const struct host_known *k, const struct topology *t,
			 const struct host_part *part)
{
	const struct verdict_item *worst = worst_of(&k->verdict, part->id);
	json_t *value = host_part_encode(part);

	add_place(t, part, value);
	(void)json_object_set_new(value, "verdict",
				  worst ? json_string(verdict_level_names[worst->level])
					: json_null());
	(void)json_object_set_new(
		value, "sentence",
		json_text(worst && worst->level != VERDICT_PASS ? worst->sentence : NULL));
	return value;
}

void routes_parts_get(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(host_known_release) struct host_known k = { .n = 0 };
	CLEANUP(json_freep) json_t *node = NULL;
	CLEANUP(topology_release) struct topology t = { .n_nodes = 0 };
	json_t *parts;
	struct err err = ERR_INIT;
	const char *digest;
	bool placed;
	size_t i;
	int r = read_known(s, call_segment(call), &k, &err);

	if (r == 0)
		r = store_node(s->store, call_segment(call), 0, &node, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	digest = json_string_value(json_object_get(node, "topology"));
	placed = topology_of(s, digest, &t);
	parts = json_array();
	for (i = 0; i < k.parts.n; i++)
		(void)json_array_append_new(parts,
					    part_json(&k, placed ? &t : NULL, &k.parts.all[i]));
	call_reply(call, 200,
		   json_pack("{s:s, s:o, s:o}", "node", call_segment(call), "topology",
			     json_text(digest), "parts", parts));
}
