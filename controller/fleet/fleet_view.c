/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/fleet_view.h"

#include <stdlib.h>
#include <string.h>

#include "controller/fleet/live.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

const char *const fleet_service_names[] = { "in-service", "cordoned", "held", "not-ready", NULL };

enum {
	ROOM_FIRST = 64,
	NUMBER_SIZE = 24,
	LEVELS = VERDICT_FAIL + 1,
	CONNECTIONS = LIVE_SUSPECT + 1,
	SERVICE_RANKS = 3,
};

/* --- rows --- */

/* Index of the name, or where to insert it. */
static size_t place_of(const struct fleet_view *v, const char *name, bool *ret_there)
{
	size_t low = 0, high = v->n;

	/* When loading, most names come in order. */
	if (v->n > 0 && strcmp(v->rows[v->n - 1].name, name) < 0)
		low = v->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(v->rows[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_there = low < v->n && streq(v->rows[low].name, name);
	return low;
}

const struct fleet_view_row *fleet_view_find(const struct fleet_view *v, const char *name)
{
	bool there;
	const size_t at = place_of(v, name, &there);

	return there ? &v->rows[at] : NULL;
}

static struct fleet_view_row *row_need(struct fleet_view *v, const char *name, bool *ret_new)
{
	bool there;
	const size_t at = place_of(v, name, &there);

	*ret_new = !there;
	if (there)
		return &v->rows[at];
	if (v->n == v->room) {
		v->room = v->room ? v->room + v->room / 2 : ROOM_FIRST;
		v->rows = xrealloc(v->rows, v->room, sizeof(*v->rows));
	}
	memmove(&v->rows[at + 1], &v->rows[at], (v->n - at) * sizeof(*v->rows));
	v->n++;
	v->rows[at] = (struct fleet_view_row){ .name = xstrdup(name),
					       .domain = NAME_NONE,
					       .sku = NAME_NONE,
					       .life = FLEET_UNKNOWN,
					       .service = FLEET_UNKNOWN };
	return &v->rows[at];
}

static void row_release(struct fleet_view *v, struct fleet_view_row *row)
{
	names_drop(&v->domains, row->domain);
	names_drop(&v->skus, row->sku);
	free(row->name);
}

void fleet_view_release(struct fleet_view *v)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		row_release(v, &v->rows[i]);
	free(v->rows);
	names_release(&v->domains);
	names_release(&v->skus);
	*v = (struct fleet_view){ 0 };
}

uint64_t fleet_view_count(struct fleet_view *v)
{
	return ++v->version;
}

static void touch(struct fleet_view *v, struct fleet_view_row *row)
{
	row->version = fleet_view_count(v);
}

/* Returns true if the name has changed. A new name also changes the list of names. */
static bool set_name(struct fleet_view *v, struct names *names, uint64_t *list_version,
		     int32_t *number, const char *text)
{
	int next;

	if (streq(names_text(names, *number), text))
		return false;
	if (text && names_find(names, text) == NAME_NONE)
		*list_version = v->version + 1; /* that of the row, which is touched next */
	next = names_hold(names, text);
	names_drop(names, *number);
	*number = next;
	return true;
}

bool fleet_view_put(struct fleet_view *v, const char *name, const struct fleet_view_report *report)
{
	const uint16_t incidents = (uint16_t)MIN(report->incidents, (uint64_t)UINT16_MAX);
	bool changed;
	struct fleet_view_row *row = row_need(v, name, &changed);

	changed |= row->level != report->level || row->incidents != incidents;
	changed |= set_name(v, &v->skus, &v->skus_version, &row->sku, report->sku);
	row->level = (int8_t)report->level;
	row->incidents = incidents;
	row->seen_us = report->seen_us;
	if (changed)
		touch(v, row);
	return changed;
}

bool fleet_view_tell(struct fleet_view *v, size_t nth, const struct fleet_view_state *state)
{
	struct fleet_view_row *row = &v->rows[nth];
	bool changed = row->life != state->life || row->service != state->service ||
		       row->connection != state->connection || row->two != state->two ||
		       row->stale != state->stale;

	changed |= set_name(v, &v->domains, &v->domains_version, &row->domain, state->domain);
	row->life = (int8_t)state->life;
	row->service = (int8_t)state->service;
	row->connection = (uint8_t)state->connection;
	row->two = state->two;
	row->stale = state->stale;
	if (changed)
		touch(v, row);
	return changed;
}

void fleet_view_forget(struct fleet_view *v, const char *name)
{
	bool there;
	const size_t at = place_of(v, name, &there);

	if (!there)
		return;
	row_release(v, &v->rows[at]);
	memmove(&v->rows[at], &v->rows[at + 1], (v->n - at - 1) * sizeof(*v->rows));
	v->n--;
	v->whole = fleet_view_count(v);
}

size_t fleet_view_bytes(const struct fleet_view *v)
{
	size_t bytes = v->room * sizeof(*v->rows), i;

	for (i = 0; i < v->n; i++)
		bytes += strlen(v->rows[i].name) + 1;
	return bytes;
}

/* --- output --- */

int fleet_view_level(const struct fleet_view_row *row)
{
	return row->stale || row->two ? VERDICT_INCONCLUSIVE : row->level;
}

static bool is_newer(const struct fleet_view *v, const struct fleet_view_row *row, uint64_t since)
{
	return row->version > since || since < v->whole;
}

size_t fleet_view_changed(const struct fleet_view *v, uint64_t since)
{
	size_t n = 0, i;

	for (i = 0; i < v->n; i++)
		n += is_newer(v, &v->rows[i], since);
	return n;
}

static int column_verdict(const struct fleet_view_row *row)
{
	return fleet_view_level(row);
}

static int column_stale(const struct fleet_view_row *row)
{
	return row->stale;
}

static int column_life(const struct fleet_view_row *row)
{
	return row->life;
}

static int column_service(const struct fleet_view_row *row)
{
	return row->service;
}

static int column_connection(const struct fleet_view_row *row)
{
	return row->connection;
}

static int column_domain(const struct fleet_view_row *row)
{
	return row->domain;
}

static int column_sku(const struct fleet_view_row *row)
{
	return row->sku;
}

static int column_incidents(const struct fleet_view_row *row)
{
	return row->incidents;
}

/* Called up to a million times a second: a tenth of printf()'s time. */
static void put_number(struct strbuf *text, int value)
{
	char digits[NUMBER_SIZE];
	unsigned left = value < 0 ? (unsigned)-value : (unsigned)value;
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	if (value < 0)
		digits[--at] = '-';
	(void)strbuf_add(text, &digits[at], sizeof(digits) - at);
}

static void put_names(const struct fleet_view *v, uint64_t since, struct strbuf *text)
{
	const char *before = "\"";
	size_t i;

	(void)strbuf_puts(text, "{\"names\":[");
	for (i = 0; i < v->n; i++) {
		if (!is_newer(v, &v->rows[i], since))
			continue;
		/* Host names need no escaping: node_name_ok(). */
		(void)strbuf_puts(text, before);
		(void)strbuf_puts(text, v->rows[i].name);
		(void)strbuf_puts(text, "\"");
		before = ",\"";
	}
	(void)strbuf_puts(text, "]");
}

void fleet_view_columns(const struct fleet_view *v, uint64_t since, struct strbuf *text)
{
	static const struct {
		const char *before;
		int (*value)(const struct fleet_view_row *row);
	} columns[] = {
		{ ",\"verdict\":[", column_verdict },
		{ ",\"stale\":[", column_stale },
		{ ",\"life\":[", column_life },
		{ ",\"service\":[", column_service },
		{ ",\"connection\":[", column_connection },
		{ ",\"domain\":[", column_domain },
		{ ",\"sku\":[", column_sku },
		{ ",\"incidents\":[", column_incidents },
	};
	size_t i, k;

	put_names(v, since, text);
	for (k = 0; k < ARRAY_SIZE(columns); k++) {
		const char *before = "";

		(void)strbuf_puts(text, columns[k].before);
		for (i = 0; i < v->n; i++) {
			if (!is_newer(v, &v->rows[i], since))
				continue;
			(void)strbuf_puts(text, before);
			put_number(text, columns[k].value(&v->rows[i]));
			before = ",";
		}
		(void)strbuf_puts(text, "]");
	}
	(void)strbuf_puts(text, "}");
}

/* Nonzero counts only, unless `all`. */
static json_t *counts_of(const char *const *names, const size_t *counts, size_t n, bool all)
{
	json_t *value = json_object();
	size_t i;

	for (i = 0; i < n; i++) {
		if (all || counts[i] > 0)
			(void)json_object_set_new(value, names[i],
						  json_integer((json_int_t)counts[i]));
	}
	return value;
}

json_t *fleet_view_counts(const struct fleet_view *v)
{
	size_t levels[LEVELS] = { 0 }, lives[LIFE_STATES] = { 0 }, services[FLEET_SERVICES] = { 0 },
	       connections[CONNECTIONS] = { 0 };
	size_t stale = 0, i;

	for (i = 0; i < v->n; i++) {
		const struct fleet_view_row *row = &v->rows[i];

		levels[fleet_view_level(row)]++;
		stale += row->stale;
		connections[row->connection]++;
		if (row->life != FLEET_UNKNOWN)
			lives[row->life]++;
		if (row->service != FLEET_UNKNOWN)
			services[row->service]++;
	}
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "hosts", (json_int_t)v->n, "stale",
			 (json_int_t)stale, "verdict",
			 counts_of(verdict_level_names, levels, LEVELS, true), "life",
			 counts_of(life_state_names, lives, LIFE_STATES, false), "service",
			 counts_of(fleet_service_names, services, FLEET_SERVICES, false),
			 "connection", counts_of(live_state_names, connections, CONNECTIONS, true));
}

json_t *fleet_view_names(const struct names *names)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < names->n; i++) {
		const char *text = names_text(names, (int)i);

		(void)json_array_append_new(list, json_string(text ? text : ""));
	}
	return list;
}

/* --- the worst --- */

static int service_rank(const struct fleet_view_row *row)
{
	if (row->service == FLEET_SERVICE_IN || row->service == FLEET_SERVICE_HELD)
		return 0;
	return row->service == FLEET_UNKNOWN ? 2 : 1;
}

void fleet_view_worst(const struct fleet_view *v, struct fleet_view_worst *ret)
{
	int level, rank;
	size_t i;

	ret->n = 0;
	for (level = VERDICT_FAIL; level > VERDICT_PASS; level--) {
		for (rank = 0; rank < SERVICE_RANKS; rank++) {
			for (i = 0; i < v->n && ret->n < ARRAY_SIZE(ret->rows); i++) {
				if (fleet_view_level(&v->rows[i]) == level &&
				    service_rank(&v->rows[i]) == rank)
					ret->rows[ret->n++] = i;
			}
		}
	}
}
