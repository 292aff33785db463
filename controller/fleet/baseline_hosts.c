/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline_hosts.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

int baseline_compare_keys(const void *a, const void *b)
{
	const struct baseline_key *x = a, *y = b;
	int r = strcmp(x->sku, y->sku);

	return r ? r : kind_compare(&x->kind, &y->kind);
}

/* Index of the host, or where to insert it. */
static size_t place_of(const struct baseline *line, const char *node, bool *ret_there)
{
	size_t low = 0, high = line->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(line->hosts[mid].node, node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_there = low < line->n && streq(line->hosts[low].node, node);
	return low;
}

void baseline_host_put(struct baseline *line, const char *node, double value, double spread)
{
	bool there = false;
	size_t at = place_of(line, node, &there);

	line->news++;
	line->changed = line->middle_old = true;
	if (there) {
		line->hosts[at].value = value;
		line->hosts[at].spread = spread;
		return;
	}
	if (line->n == BASELINE_HOSTS_MAX)
		return;
	if (line->n == line->room) {
		line->room = MAX(line->room * 2, (size_t)16);
		line->hosts = xrealloc(line->hosts, line->room, sizeof(*line->hosts));
	}
	memmove(&line->hosts[at + 1], &line->hosts[at], (line->n - at) * sizeof(*line->hosts));
	line->hosts[at] = (struct host_value){ xstrdup(node), value, spread };
	line->n++;
}

void baseline_host_forget(struct baseline *line, const char *node)
{
	bool there = false;
	size_t at = place_of(line, node, &there);

	if (!there)
		return;
	free(line->hosts[at].node);
	line->n--;
	line->news++;
	line->changed = line->middle_old = true;
	memmove(&line->hosts[at], &line->hosts[at + 1], (line->n - at) * sizeof(*line->hosts));
}

void baseline_empty(struct baseline *line)
{
	while (line->n > 0)
		free(line->hosts[--line->n].node);
	free(line->hosts);
	line->hosts = NULL;
	self_baselines_release(&line->usuals);
	free(line->but);
	line->but = NULL;
}

void baseline_free(struct baseline *line)
{
	baseline_empty(line);
	free(line->sku);
	free(line->check);
	free(line->locality);
	free(line->unit);
	free(line->params);
	free(line);
}

/* Index of the host to leave out; past the end for NULL or an unknown host. */
static size_t left_out(const struct baseline *line, const char *node)
{
	bool there = false;
	size_t at = node ? place_of(line, node, &there) : 0;

	return there ? at : line->n;
}

/* Values of all hosts but `node` (NULL: of all), by name. New memory. */
static double *values_but(const struct baseline *line, const char *node, size_t *ret_n)
{
	double *values = xcalloc(line->n + 1, sizeof(*values));
	const size_t but = left_out(line, node);
	size_t n = 0, i;

	for (i = 0; i < line->n; i++) {
		if (i != but)
			values[n++] = line->hosts[i].value;
	}
	*ret_n = n;
	return values;
}

double *baseline_host_values(const struct baseline *line, const char *node, size_t *ret_n)
{
	double *values = values_but(line, node, ret_n);

	stats_sort(values, *ret_n);
	return values;
}

/* Spread of the parts of a typical host. */
static double within_of(const struct baseline *line, const char *node)
{
	CLEANUP(freep) double *spreads = xcalloc(line->n + 1, sizeof(*spreads));
	const size_t but = left_out(line, node);
	size_t n = 0, i;

	for (i = 0; i < line->n; i++) {
		if (i != but)
			spreads[n++] = line->hosts[i].spread;
	}
	return n ? stats_median_of(spreads, n) : 0;
}

/*
 * A report asks once per part, so the result is cached: in a small fleet until anything changes, in
 * a large one for 5 % of changes.
 */
const struct center *baseline_center_but(struct baseline *line, const char *node)
{
	bool exact = line->n <= BASELINE_EXACT_MAX;
	const char *but = exact ? node : NULL;
	CLEANUP(freep) double *values = NULL;
	size_t n = 0;

	if (line->centered && line->news <= (exact ? 0 : line->n / 20) && streq(line->but, but))
		return &line->center;
	values = values_but(line, but, &n);
	line->within = within_of(line, but);
	line->center = reference_center(values, n, line->within);
	line->centered = true;
	line->news = 0;
	free(line->but);
	line->but = xstrdup(but);
	return &line->center;
}
