/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/baseline.h"

#include <search.h>
#include <stdlib.h>

#include "lib/judge/reference.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "lib/report.h"
#include "lib/xalloc.h"

struct host_value {
	char *node;
	double value;
};

struct baseline {
	char *key;
	char *sku, *check, *locality, *unit, *params;
	int better;
	struct host_value *hosts; /* by name */
	size_t n, room;
	double *sorted; /* a copy of the values as they were `news` changes ago, or NULL */
	size_t n_sorted, news;
};

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct baseline *)a)->key, ((const struct baseline *)b)->key);
}

static char *key_of(const char *sku, const struct sample *s)
{
	CLEANUP(freep) char *params = params_key(s);

	return xasprintf("%s\n%s\n%s\n%s\n%d\n%s", sku, s->check, s->locality ? s->locality : "",
			 s->unit ? s->unit : "", s->better, params);
}

static struct baseline *find(const struct baselines *b, char *key)
{
	struct baseline wanted = { .key = key };
	struct baseline **found = tfind(&wanted, &b->tree, compare_keys);

	return found ? *found : NULL;
}

static struct baseline *need(struct baselines *b, char *key, const char *sku, const struct sample *s)
{
	struct baseline *line = find(b, key);

	if (line || b->n == BASELINES_MAX)
		return line;
	line = xcalloc(1, sizeof(*line));
	*line = (struct baseline){ .key = xstrdup(key),
				   .sku = xstrdup(sku),
				   .check = xstrdup(s->check),
				   .locality = xstrdup(s->locality),
				   .unit = xstrdup(s->unit),
				   .params = params_key(s),
				   .better = s->better };
	if (!tsearch(line, &b->tree, compare_keys))
		abort(); /* out of memory */
	b->n++;
	return line;
}

/* Where the host is, or belongs. */
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

static void put(struct baseline *line, const char *node, double value)
{
	bool there = false;
	size_t at = place_of(line, node, &there);

	line->news++;
	if (there) {
		line->hosts[at].value = value;
		return;
	}
	if (line->n == BASELINE_HOSTS_MAX)
		return;
	if (line->n == line->room) {
		line->room = MAX(line->room * 2, (size_t)16);
		line->hosts = xrealloc(line->hosts, line->room, sizeof(*line->hosts));
	}
	memmove(&line->hosts[at + 1], &line->hosts[at], (line->n - at) * sizeof(*line->hosts));
	line->hosts[at] = (struct host_value){ xstrdup(node), value };
	line->n++;
}

static void forget(struct baseline *line, const char *node)
{
	bool there = false;
	size_t at = place_of(line, node, &there);

	if (!there)
		return;
	free(line->hosts[at].node);
	line->n--;
	line->news++;
	memmove(&line->hosts[at], &line->hosts[at + 1], (line->n - at) * sizeof(*line->hosts));
}

/* --- learning --- */

/* Values of one report under one key. */
struct gathered {
	char *key;
	const struct sample *sample; /* one of them */
	double value;
};

static int compare_gathered(const void *a, const void *b)
{
	const struct gathered *x = a, *y = b;
	int r = strcmp(x->key, y->key);

	return r ? r : (x->value > y->value) - (x->value < y->value);
}

/* Is anything of this check other than good? */
static bool check_bad(const struct verdict *v, const char *check)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level != VERDICT_PASS; i++) {
		if (streq(v->items[i].check, check))
			return true;
	}
	return false;
}

/* `n` values of one key, ascending. */
static void learn_key(struct baselines *b, const struct report *report, const struct gathered *g,
		      size_t n, bool bad)
{
	struct baseline *line = bad ? find(b, g->key) : need(b, g->key, report->sku, g->sample);
	double middle = n % 2 ? g[n / 2].value : (g[n / 2 - 1].value + g[n / 2].value) / 2;

	if (line && bad)
		forget(line, report->node);
	else if (line)
		put(line, report->node, middle);
}

static size_t gather(const struct report *report, struct gathered *ret)
{
	struct measure m;
	size_t n = 0, i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (measure_of(s, &m) && m.family->compared)
			ret[n++] = (struct gathered){ key_of(report->sku, s), s, s->value };
	}
	qsort(ret, n, sizeof(*ret), compare_gathered);
	return n;
}

void baselines_learn(struct baselines *b, const struct report *report,
		     const struct verdict *verdict, const struct verdict *merged)
{
	CLEANUP(freep) struct gathered *g = NULL;
	size_t n, i, first = 0;

	if (!report->sku)
		return;
	g = xcalloc(report->n_samples + 1, sizeof(*g));
	n = gather(report, g);
	for (i = 1; i <= n; i++) {
		bool bad;

		if (i < n && streq(g[i].key, g[first].key))
			continue;
		bad = merged->level == VERDICT_FAIL || check_bad(verdict, g[first].sample->check);
		learn_key(b, report, &g[first], i - first, bad);
		first = i;
	}
	for (i = 0; i < n; i++)
		free(g[i].key);
}

/* --- asking --- */

static double *values_but(const struct baseline *line, const char *node, size_t *ret_n)
{
	double *values = xcalloc(line->n + 1, sizeof(*values));
	size_t n = 0, i;

	for (i = 0; i < line->n; i++) {
		if (!node || !streq(line->hosts[i].node, node))
			values[n++] = line->hosts[i].value;
	}
	stats_sort(values, n);
	*ret_n = n;
	return values;
}

static void refresh(struct baseline *line)
{
	if (line->sorted && line->news <= line->n / 20)
		return;
	free(line->sorted);
	line->sorted = values_but(line, NULL, &line->n_sorted);
	line->news = 0;
}

bool baselines_expect(const struct baselines *b, const struct report *report,
		      const struct sample *s, const struct measure *m, struct expectation *ret)
{
	CLEANUP(freep) char *key = NULL;
	CLEANUP(freep) double *others = NULL;
	struct baseline *line;
	size_t n = 0;
	bool known;

	if (!report->sku || !m->family->compared)
		return false;
	key = key_of(report->sku, s);
	line = find(b, key);
	if (!line)
		return false;
	if (line->n <= BASELINE_EXACT_MAX) {
		others = values_but(line, report->node, &n);
		known = n >= REFERENCE_N_MIN && expectation_from_peers(m, others, n, ret);
	} else {
		refresh(line);
		known = expectation_from_peers(m, line->sorted, line->n_sorted, ret);
	}
	if (known)
		ret->source = SOURCE_FLEET;
	return known;
}

/* --- showing, ending --- */

static void encode(const void *node, VISIT visit, void *closure)
{
	const struct baseline *line = *(const struct baseline *const *)node;
	CLEANUP(freep) double *values = NULL;
	double median;
	size_t n;

	if ((visit != postorder && visit != leaf) || line->n == 0)
		return;
	values = values_but(line, NULL, &n);
	median = stats_median(values, n);
	(void)json_array_append_new(
		closure,
		json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:o, s:I, s:f, s:f}", "sku", line->sku,
			  "check", line->check, "class", line->locality, "unit", line->unit,
			  "better", sample_better_names[line->better], "params",
			  json_loads(line->params, JSON_DECODE_ANY, NULL) ?: json_object(), "hosts",
			  (json_int_t)n, "median", median, "mad", stats_mad(values, n, median)));
}

json_t *baselines_encode(const struct baselines *b)
{
	json_t *items = json_array();

	twalk_r(b->tree, encode, items);
	return items;
}

static void baseline_free(void *p)
{
	struct baseline *line = p;

	while (line->n > 0)
		free(line->hosts[--line->n].node);
	free(line->hosts);
	free(line->sorted);
	free(line->key);
	free(line->sku);
	free(line->check);
	free(line->locality);
	free(line->unit);
	free(line->params);
	free(line);
}

void baselines_release(struct baselines *b)
{
	tdestroy(b->tree, baseline_free);
	*b = (struct baselines){ 0 };
}
