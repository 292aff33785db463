/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>

#include "controller/fleet/baseline_hosts.h"
#include "controller/fleet/baseline_usual.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/stats.h"
#include "lib/judge/twins.h"
#include "lib/judge/verdict.h"
#include "lib/policy/bad_run.h"
#include "lib/report/report.h"

/* Evicted together when the table is full, as finding them takes a walk over all. */
enum { ROOM = BASELINES_MAX / 64 };

/* Number of hosts with data; suspect hosts are only in the usuals. */
static size_t count_hosts(const struct baseline *line)
{
	return MAX(line->n, line->usuals.n);
}

static const char *only_host(const struct baseline *line)
{
	return line->n > 0 ? line->hosts[0].node : line->usuals.hosts[0].node;
}

void baselines_drop(struct baselines *b, struct baseline *line)
{
	(void)tdelete(line, &b->tree, baseline_compare_keys);
	share_leave(&b->shares, &line->share);
	b->n--;
	if (!line->listed && line->saved_us == 0) {
		baseline_free(line);
		return;
	}
	baseline_empty(line);
	line->gone = true;
	line->next_dropped = b->dropped;
	b->dropped = line;
}

void baselines_settle(struct baselines *b, struct baseline *line)
{
	struct baseline *excess;

	line->used = ++b->uses;
	if (count_hosts(line) == 0) {
		baselines_drop(b, line);
		return;
	}
	if (count_hosts(line) > 1) {
		share_leave(&b->shares, &line->share);
		return;
	}
	share_enter(&b->shares, &line->share, line, only_host(line));
	excess = share_excess(&b->shares, &line->share, BASELINES_OWN_MAX);
	if (!excess)
		return;
	b->shares.dropped++;
	baselines_drop(b, excess);
}

struct listing {
	struct baseline **lines;
	size_t n;
	bool empty; /* only empty ones */
};

static void list(struct baseline *line, void *context)
{
	struct listing *all = context;

	if (!all->empty || count_hosts(line) == 0)
		all->lines[all->n++] = line;
}

void baselines_drop_empty(struct baselines *b)
{
	CLEANUP(freep) struct baseline **lines = xcalloc(b->n + 1, sizeof(struct baseline *));
	struct listing all = { lines, 0, true };
	size_t i;

	baselines_visit(b, list, &all);
	for (i = 0; i < all.n; i++)
		baselines_drop(b, lines[i]);
}

/* If the table is full, evict the baselines with the fewest hosts. */
static void baselines_make_room(struct baselines *b)
{
	CLEANUP(freep) struct baseline **lines = NULL;
	CLEANUP(freep) struct share_rank *ranks = NULL;
	struct listing all = { NULL, 0, false };
	size_t i;

	if (b->n < BASELINES_MAX)
		return;
	all.lines = lines = xcalloc(b->n, sizeof(struct baseline *));
	ranks = xcalloc(b->n, sizeof(*ranks));
	baselines_visit(b, list, &all);
	for (i = 0; i < all.n; i++)
		ranks[i] = (struct share_rank){ count_hosts(lines[i]), share_count(&lines[i]->share),
						lines[i]->used, lines[i] };
	share_rank(ranks, all.n);
	for (i = 0; i < ROOM; i++)
		baselines_drop(b, ranks[i].entry);
	b->shares.dropped += ROOM;
	b->shares.filled++;
}

/* Walk over the baselines, for saving. */

struct visit {
	void (*visit)(struct baseline *line, void *context);
	void *context;
};

static void visit_node(const void *node, VISIT order, void *closure)
{
	const struct visit *v = closure;

	if (order == postorder || order == leaf)
		v->visit(*(struct baseline *const *)node, v->context);
}

void baselines_visit(const struct baselines *b, void (*visit)(struct baseline *line, void *context),
		     void *context)
{
	struct visit v = { visit, context };

	twalk_r(b->tree, visit_node, &v);
}

struct baseline_about baseline_about(const struct baseline *line)
{
	return (struct baseline_about){ .sku = line->sku,
					.check = line->check,
					.locality = line->locality,
					.unit = line->unit,
					.params = line->params,
					.better = line->key.kind.better };
}

bool baseline_host(const struct baseline *line, size_t at, struct baseline_host *ret)
{
	if (at >= line->n)
		return false;
	*ret = (struct baseline_host){ line->hosts[at].node, line->hosts[at].value,
				       line->hosts[at].spread };
	return true;
}

uint64_t baseline_saved_us(const struct baseline *line)
{
	return line->saved_us;
}

bool baseline_changed(const struct baseline *line)
{
	return line->changed;
}

void baseline_set_saved(struct baseline *line, uint64_t saved_us)
{
	line->saved_us = saved_us;
	line->changed = false;
}

void baseline_set_changed(struct baseline *line)
{
	line->changed = true;
}

struct self_baselines *baseline_usuals(struct baseline *line)
{
	return &line->usuals;
}

void baseline_set_listed(struct baseline *line, bool listed)
{
	line->listed = listed;
}

bool baseline_gone(const struct baseline *line)
{
	return line->gone;
}

struct baseline *baseline_next_dropped(const struct baseline *line)
{
	return line->next_dropped;
}

void baseline_set_next_dropped(struct baseline *line, struct baseline *next)
{
	line->next_dropped = next;
}

/* `ret_memory` holds what was allocated for the key; the caller frees it. */
static struct baseline_key key_of(const char *sku, const struct sample *s, char **ret_memory)
{
	return (struct baseline_key){ sku, kind_of(s, ret_memory) };
}

static struct baseline *find(const struct baselines *b, const struct baseline_key *key)
{
	struct baseline **found = tfind(key, &b->tree, baseline_compare_keys);

	return found ? *found : NULL;
}

/* The baseline of the sample; NULL if there is none yet. */
static struct baseline *baseline_of(const struct baselines *b, const char *sku,
				    const struct sample *s)
{
	CLEANUP(freep) char *memory = NULL;
	struct baseline_key key;

	if (!sku)
		return NULL;
	key = key_of(sku, s, &memory);
	return find(b, &key);
}

static struct baseline *need(struct baselines *b, const struct baseline_key *key)
{
	struct baseline *line = find(b, key);

	if (line)
		return line;
	baselines_make_room(b);
	line = xcalloc(1, sizeof(*line));
	line->key.sku = line->sku = xstrdup(key->sku);
	line->key.kind = (struct kind){
		.check = line->check = xstrdup(key->kind.check),
		.locality = line->locality = xstrdup(key->kind.locality),
		.unit = line->unit = xstrdup(key->kind.unit),
		.params = line->params = xstrdup(key->kind.params),
		.better = key->kind.better,
	};
	if (!tsearch(line, &b->tree, baseline_compare_keys))
		abort(); /* out of memory */
	b->n++;
	return line;
}

/* --- learning --- */

/* A report's values under one key. */
struct gathered {
	struct baseline_key key;
	char *memory;		     /* owned by the key */
	const struct sample *sample; /* one of them */
	double value;
};

static int compare_gathered(const void *a, const void *b)
{
	const struct gathered *x = a, *y = b;
	int r = baseline_compare_keys(&x->key, &y->key);

	return r ? r : (x->value > y->value) - (x->value < y->value);
}

/* Is a part low by more than its few peers, which differ as silicon does? */
static bool is_low(const struct verdict *v, const char *check)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level >= VERDICT_WARN; i++) {
		if (streq(v->items[i].check, check) && !bad_run_by_peers_alone(&v->items[i]))
			return true;
	}
	return false;
}

/* Number of parts at this level in the check. */
static size_t count_level(const struct verdict *v, const char *check, int level)
{
	size_t n = 0, i;

	for (i = 0; i < v->n_items && v->items[i].level != VERDICT_PASS; i++)
		n += v->items[i].level == level && streq(v->items[i].check, check);
	return n;
}

/* Standard deviation of `n` values, which are few: the median over the hosts makes it robust. */
static double deviation(const struct gathered *g, size_t n)
{
	double mean = 0, squares = 0;
	size_t i;

	for (i = 0; i < n; i++)
		mean += g[i].value / (double)n;
	for (i = 0; i < n; i++)
		squares += (g[i].value - mean) * (g[i].value - mean);
	return n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

/*
 * Are all `n` values usual in the fleet? A host that only the SKU file or its few peers find low is
 * not removed; and before the fleet has data, half of it being low counts as usual, too.
 */
static bool is_usual(const struct baselines *b, const struct report *report,
		     const struct gathered *g, size_t n)
{
	struct expectation e;
	struct measure m;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!measure_of(g[i].sample, &m) ||
		    !baselines_expect(b, report, g[i].sample, &m, NULL, &e))
			return anomalies_wide(&b->anomalies, ANOMALY_LOW, report->sku,
					      g[i].sample->check);
		if (e.low)
			return false;
	}
	return true;
}

/* A part with an inconclusive result may have disturbed the others. */
static bool is_doubtful(const struct baselines *b, const struct report *report,
			const struct verdict *v, const struct gathered *g, size_t n)
{
	const char *check = g->sample->check;

	return count_level(v, check, VERDICT_INCONCLUSIVE) > 0 ||
	       (is_low(v, check) && !is_usual(b, report, g, n));
}

/* Learn what the parts of one key usually reach; a bad host keeps its history. */
static void learn_usual(struct baseline *line, const struct report *report,
			const struct verdict *verdict, const struct gathered *g, size_t n)
{
	CLEANUP(freep) struct self_baseline_value *values = xcalloc(n, sizeof(*values));
	size_t i;

	for (i = 0; i < n; i++)
		values[i] = (struct self_baseline_value){ g[i].sample->subject, g[i].value };
	baseline_learn_usual(line, verdict, report->node, values, n);
}

/* `n` values of one key, ascending. */
static void learn_key(struct baselines *b, const struct report *report, const struct gathered *g,
		      size_t n, bool bad)
{
	struct baseline *line = bad ? find(b, &g->key) : need(b, &g->key);
	double middle = n % 2 ? g[n / 2].value : (g[n / 2 - 1].value + g[n / 2].value) / 2;

	if (!line)
		return;
	if (!bad)
		baseline_host_put(line, report->node, middle, deviation(g, n));
	else if (!anomalies_wide(&b->anomalies, ANOMALY_SUSPECT, report->sku, g->sample->check))
		baseline_host_forget(line, report->node);
}

/* Is it a measurement error? Items that warn come before those that pass. */
static bool is_impossible(const struct verdict *v, const struct sample *s)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level >= VERDICT_WARN; i++) {
		if (v->items[i].impossible && streq(v->items[i].check, s->check) &&
		    streq(v->items[i].subject, s->subject))
			return true;
	}
	return false;
}

static size_t gather(const struct report *report, const struct verdict *verdict,
		     struct gathered *ret)
{
	CLEANUP(twins_release) struct twins twins = { 0 };
	size_t n = 0, i;

	twins_find(report, &twins);
	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];
		const struct family *family = twins.measure[i].family;

		if (!family || !family->compared || twins_repeat(&twins, i) ||
		    is_impossible(verdict, s))
			continue;
		ret[n] = (struct gathered){ .sample = s, .value = twins.value[i] };
		ret[n].key = key_of(report->sku, s, &ret[n].memory);
		n++;
	}
	qsort(ret, n, sizeof(*ret), compare_gathered);
	return n;
}

void baselines_learn(struct baselines *b, const struct report *report,
		     const struct verdict *verdict, bool suspect)
{
	CLEANUP(freep) struct gathered *g = NULL;
	struct baseline *line;
	size_t n, i, first = 0;

	if (!report->sku)
		return;
	g = xcalloc(report->n_samples + 1, sizeof(*g));
	n = gather(report, verdict, g);
	for (i = 1; i <= n; i++) {
		bool bad;

		if (i < n && baseline_compare_keys(&g[i].key, &g[first].key) == 0)
			continue;
		bad = suspect || is_doubtful(b, report, verdict, &g[first], i - first);
		learn_key(b, report, &g[first], i - first, bad);
		line = find(b, &g[first].key);
		if (line) {
			learn_usual(line, report, verdict, &g[first], i - first);
			baselines_settle(b, line);
		}
		first = i;
	}
	for (i = 0; i < n; i++)
		free(g[i].memory);
}

/* --- queries --- */

/* Median of the report's samples with the same check and class. */
static double middle_of(const struct report *report, const struct sample *s)
{
	CLEANUP(freep) double *values = xcalloc(report->n_samples + 1, sizeof(*values));
	size_t n = 0, i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *other = &report->samples[i];

		if (other->state == SAMPLE_MEASURED && isfinite(other->value) &&
		    streq(other->check, s->check) && streq(other->locality, s->locality))
			values[n++] = other->value;
	}
	return n ? stats_median_of(values, n) : (double)NAN;
}

static double last_middle(const struct report *report, const struct sample *s,
			  struct baseline_last *last)
{
	if (!last)
		return middle_of(report, s);
	if (!last->check || !streq(last->check, s->check) || !streq(last->locality, s->locality))
		*last = (struct baseline_last){ s->check, s->locality, middle_of(report, s) };
	return last->middle;
}

bool baselines_expect(const struct baselines *b, const struct report *report, const struct sample *s,
		      const struct measure *m, struct baseline_last *last, struct expectation *ret)
{
	struct baseline *line = m->family->compared ? baseline_of(b, report->sku, s) : NULL;
	/* Only parts that vary as silicon does are compared with the others of their host. */
	const double middle = line && m->family->silicon ? last_middle(report, s, last) : NAN;
	const struct baseline_part part = { report->node, s->subject, m, middle };

	if (!line || !baseline_hold(line, report->node, m, middle, ret))
		return false;
	if (ret->parts && ret->low && baselines_among(b, line, &part))
		ret->low = ret->far = ret->deep = false;
	return true;
}

double baselines_within(const struct baselines *b, const struct report *report,
			const struct sample *s)
{
	struct baseline *line = baseline_of(b, report->sku, s);

	if (!line || baseline_center_but(line, report->node)->n < WITHIN_HOSTS_MIN)
		return 0;
	return line->within;
}

size_t baselines_usual(const struct baselines *b, const struct report *report,
		       const struct sample *s, double *ret_ratios)
{
	struct baseline *line = baseline_of(b, report->sku, s);

	return line ? self_baselines_part(&line->usuals, report->node, s->subject, ret_ratios) : 0;
}

size_t baselines_own(const struct baselines *b, const struct report *report, const struct sample *s,
		     double *ret_values)
{
	struct baseline *line = baseline_of(b, report->sku, s);
	const struct center *fleet = line ? baseline_center_but(line, report->node) : NULL;

	if (!line || fleet->n < WITHIN_HOSTS_MIN)
		return 0;
	return self_baselines_own(&line->usuals, report->node, s->subject, fleet->median,
				  ret_values);
}

size_t baselines_whole(const struct baselines *b, const struct report *report,
		       const struct sample *s, const struct measure *m, struct expectation *ret)
{
	struct baseline *line = baseline_of(b, report->sku, s);
	const struct center *fleet = line ? baseline_center_but(line, report->node) : NULL;

	/*
	 * A few hosts suffice as control for its own history; its level is compared only with more.
	 */
	if (!line || fleet->n < WITHIN_HOSTS_MIN)
		return 0;
	return self_baselines_whole(&line->usuals, report->node, m, fleet->median, ret);
}

/* --- display, release --- */

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void encode(const void *node, VISIT visit, void *closure)
{
	const struct baseline *line = *(const struct baseline *const *)node;
	CLEANUP(freep) double *values = NULL;
	double median;
	size_t n;

	if ((visit != postorder && visit != leaf) || line->n == 0)
		return;
	values = baseline_host_values(line, NULL, &n);
	median = stats_median(values, n);
	(void)json_array_append_new(
		closure,
		json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:o, s:I, s:f, s:f}", "sku", line->sku,
			  "check", line->check, "class", text_or_null(line->locality), "unit",
			  text_or_null(line->unit), "better",
			  sample_better_names[line->key.kind.better], "params",
			  json_loads(line->params, JSON_DECODE_ANY, NULL) ?: json_object(), "hosts",
			  (json_int_t)n, "median", median, "mad", stats_mad(values, n, median)));
}

json_t *baselines_encode(const struct baselines *b)
{
	json_t *items = json_array();

	twalk_r(b->tree, encode, items);
	return items;
}

double baseline_median(struct baseline *line, bool work, size_t *ret_hosts)
{
	size_t n = line->n;

	*ret_hosts = n;
	if (n == 0)
		return (double)NAN;
	if (n > BASELINE_EXACT_MAX && !work)
		return line->centered ? line->center.median : (double)NAN;
	if (n > BASELINE_EXACT_MAX)
		return baseline_center_but(line, NULL)->median;
	/* Small fleets are cheap, once; but a scrape must not recompute the medians of many
	 * baselines. */
	if (!line->middled || (line->middle_old && work)) {
		CLEANUP(freep) double *values = baseline_host_values(line, NULL, &n);

		line->middle = stats_median(values, n);
		line->middle_old = false;
		line->middled = true;
	}
	return line->middle;
}

/* --- saving --- */

struct baseline *baselines_need(struct baselines *b, const struct baseline_about *about)
{
	CLEANUP(freep) char *check = xstrdup(about->check);
	CLEANUP(freep) char *locality = about->locality[0] ? xstrdup(about->locality) : NULL;
	CLEANUP(freep) char *unit = about->unit[0] ? xstrdup(about->unit) : NULL;
	json_t *params = json_loads(about->params, JSON_DECODE_ANY, NULL);
	const struct sample like = { .check = check,
				     .locality = locality,
				     .unit = unit,
				     .better = about->better,
				     .params = params };
	CLEANUP(freep) char *memory = NULL;
	const struct baseline_key key = key_of(about->sku, &like, &memory);
	struct baseline *line = need(b, &key);

	json_decref(params);
	return line;
}

void baseline_put(struct baseline *line, const struct baseline_host *host)
{
	baseline_host_put(line, host->node, host->value, host->spread);
}

static void forget_in(struct baseline *line, void *context)
{
	baseline_host_forget(line, context);
	self_baselines_forget(&line->usuals, context);
}

void baselines_forget(struct baselines *b, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);

	baselines_visit(b, forget_in, name);
	baselines_drop_empty(b);
	anomalies_forget(&b->anomalies, node);
}

static void free_node(void *line)
{
	baseline_free(line);
}

void baselines_release(struct baselines *b)
{
	tdestroy(b->tree, free_node);
	while (b->dropped) {
		struct baseline *line = b->dropped;

		b->dropped = line->next_dropped;
		baseline_free(line);
	}
	shares_release(&b->shares);
	anomalies_release(&b->anomalies);
	*b = (struct baselines){ 0 };
}
