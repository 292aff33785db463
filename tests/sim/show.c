/* SPDX-License-Identifier: Apache-2.0 */
/* Output of the results, for programs and for people. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/stats.h"
#include "lib/sys/table.h"
#include "tests/sim/sim.h"

/* In the order of enum grade_class. */
static const struct {
	const char *key, *words;
	bool onset;  /* must be found within a day */
	bool recall; /* counts in the total recall */
} rows[N_GRADES] = {
	[GRADE_GPU_ONSET] = { "gpu_onset", "a GPU becomes slow", true, true },
	[GRADE_HOST_ONSET] = { "host_onset", "a host becomes slow", true, true },
	[GRADE_HOST_BORN] = { "host_born", "a host is born slow", false, false },
	[GRADE_GPU_BORN] = { "gpu_born", "a GPU is born slow (to be warned of)", false, false },
	[GRADE_GPU_BLAMED] = { "gpu_blamed", "so, and jobs suffer from it", false, false },
	[GRADE_PCIE] = { "pcie", "a PCIe link becomes slow", true, true },
	[GRADE_FLAPPING] = { "flapping", "a link flaps", true, true },
	[GRADE_DYING] = { "dying", "a GPU dies", true, true },
	[GRADE_CHANNEL] = { "channel_onset", "a memory channel is lost", true, true },
	[GRADE_CHANNEL_BORN] = { "channel_born", "one was never there", false, false },
	[GRADE_FLAP_STORM] = { "flap_storm", "a link flaps now and then", false, false },
	[GRADE_XID_STORM] = { "xid_storm", "a GPU has errors now and then (to be reported)", false,
			      false },
	[GRADE_TOO_FAST] = { "too_fast", "a GPU is three times too fast (to be reported)", false,
			     false },
	[GRADE_TOR] = { "tor", "a ToR is bad (one incident of the domain)", false, false },
};

static double ratio(uint64_t part, uint64_t of)
{
	return of ? (double)part / (double)of : NAN;
}

/* The fraction of faults with an onset that were found within a day. */
static double recall_of(const struct grade *g)
{
	uint64_t hosts = 0, found = 0;
	size_t i;

	for (i = 0; i < N_GRADES; i++) {
		hosts += rows[i].recall ? g->rows[i].hosts : 0;
		found += rows[i].recall ? g->rows[i].in_time : 0;
	}
	return ratio(found, hosts);
}

static double delay_at(const struct grade *g, double q)
{
	return g->n_delays ? stats_quantile(g->delays_s, g->n_delays, q) : NAN;
}

static double days_of(const struct sim *s)
{
	return (double)s->options->days_us / (double)USEC_PER_DAY;
}

static json_t *encode_classes(const struct grade *g)
{
	json_t *classes = json_object();
	size_t i;

	for (i = 0; i < N_GRADES; i++) {
		const struct grade_row *row = &g->rows[i];

		(void)json_object_set_new(
			classes, rows[i].key,
			json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hosts",
				  (json_int_t)row->hosts, "found",
				  (json_int_t)(rows[i].onset ? row->in_time : row->found), "late",
				  (json_int_t)(rows[i].onset ? row->found - row->in_time : 0),
				  "warned", (json_int_t)row->warned, "tested",
				  (json_int_t)row->tested, "cordoned", (json_int_t)row->cordoned,
				  "incidents", (json_int_t)row->incidents));
	}
	return classes;
}

static json_t *encode_refused(const struct grade *g)
{
	json_t *refused = json_object();
	int by;

	for (by = 1; by < REFUSED_BY_COUNT; by++) {
		if (g->refused[by])
			(void)json_object_set_new(refused, refused_by_names[by],
						  json_integer((json_int_t)g->refused[by]));
	}
	return refused;
}

static json_t *encode_breaker(const struct grade *g)
{
	json_t *causes = json_object();
	int cause;

	for (cause = 0; cause < BREAKER_CAUSES; cause++) {
		if (g->breaker_causes[cause])
			(void)json_object_set_new(
				causes, breaker_cause_names[cause],
				json_integer((json_int_t)g->breaker_causes[cause]));
	}
	return causes;
}

static json_t *encode_runs(uint64_t runs, uint64_t warn, uint64_t fail)
{
	return json_pack("{s:I, s:o, s:o}", "runs", (json_int_t)runs, "warn",
			 json_number(ratio(warn, runs)), "fail", json_number(ratio(fail, runs)));
}

static json_t *encode_clean(const struct sim *s)
{
	const struct grade_clean *c = &s->grade.clean;
	const double days = (double)c->hosts * days_of(s);

	return json_pack("{s:f, s:I, s:o, s:I, s:o, s:o, s:o}", "node_days", days, "incidents",
			 (json_int_t)c->incidents, "per_10000",
			 json_number(days > 0 ? 1e4 * (double)c->incidents / days : NAN), "of_tail",
			 (json_int_t)c->of_tail, "all", encode_runs(c->runs, c->warn, c->fail),
			 "plain", encode_runs(c->plain_runs, c->plain_warn, c->plain_fail),
			 "low_once", encode_runs(c->once_runs, c->once_warn, c->once_fail));
}

static json_t *encode_named(const struct grade *g)
{
	const uint64_t right = g->named_hosts[NAMED_RIGHTLY],
		       shared = g->named_hosts[NAMED_FOR_SHARED],
		       wrong = g->named_hosts[NAMED_WRONGLY];
	uint64_t after = 0;
	size_t i;

	for (i = 0; i < g->causes.n; i++)
		after += g->causes.list[i].left;

	return json_pack("{s:I, s:I, s:I, s:o, s:o}", "right", (json_int_t)right, "shared",
			 (json_int_t)shared, "wrong", (json_int_t)wrong, "precision",
			 json_number(ratio(right, right + shared + wrong)), "precision_after",
			 json_number(ratio(right, right + after + wrong)));
}

static json_t *encode_born(const struct grade *g)
{
	const struct grade_born *b = &g->born;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "gpus", (json_int_t)b->gpus, "warned",
			 (json_int_t)b->warned, "identifiable", (json_int_t)b->identifiable,
			 "identifiable_warned", (json_int_t)b->identifiable_warned, "apart",
			 (json_int_t)b->apart, "apart_warned", (json_int_t)b->apart_warned);
}

static json_t *encode_wrong_sku(const struct grade *g)
{
	return json_number(g->wrong_sku_told_us
				   ? (double)(g->wrong_sku_told_us - g->wrong_sku_us) / 1e6
				   : NAN);
}

static double precision_of(const struct grade *g)
{
	return ratio(g->true_cordons + g->domain_cordons,
		     g->true_cordons + g->domain_cordons + g->false_cordons);
}

json_t *grade_encode(const struct sim *s)
{
	const struct grade *g = &s->grade;
	json_t *v = json_object();
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "false_cordons", g->false_cordons },
		{ "cordons", g->cordons },
		{ "releases", g->releases },
		{ "tests", g->tests },
		{ "alarms", g->alarms },
		{ "sku_incidents", g->sku_incidents },
		{ "domain_incidents", g->domain_incidents },
		{ "host_incidents", g->host_incidents },
		{ "domain_cordons", g->domain_cordons },
		{ "breaker_opened", g->breaker_opened },
		{ "budget_max_used", g->budget_max_used },
		{ "budget_cap", g->budget_cap },
		{ "domain_max_used", g->domain_max_used },
		{ "domain_cap", g->domain_cap },
		{ "overruns", g->overruns },
		{ "reports", g->reports },
	};
	size_t i;

	(void)json_object_set_new(v, "recall", json_number(recall_of(g)));
	(void)json_object_set_new(v, "precision", json_number(precision_of(g)));
	(void)json_object_set_new(v, "node_days", json_real((double)s->options->nodes * days_of(s)));
	(void)json_object_set_new(v, "delay_s",
				  json_pack("{s:o, s:o}", "p50", json_number(delay_at(g, 0.5)),
					    "p99", json_number(delay_at(g, 0.99))));
	(void)json_object_set_new(v, "cordons_per_day", json_real((double)g->cordons / days_of(s)));
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		(void)json_object_set_new(v, counts[i].key, json_integer((json_int_t)counts[i].n));
	(void)json_object_set_new(v, "faults", encode_classes(g));
	(void)json_object_set_new(v, "refused", encode_refused(g));
	(void)json_object_set_new(v, "spread", json_real(s->faults->noise.spread));
	(void)json_object_set_new(v, "clean", encode_clean(s));
	(void)json_object_set_new(v, "named", encode_named(g));
	(void)json_object_set_new(v, "born", encode_born(g));
	(void)json_object_set_new(v, "shared", causes_encode(&g->causes));
	(void)json_object_set_new(v, "breaker", encode_breaker(g));
	(void)json_object_set_new(v, "wrong_sku_told_s", encode_wrong_sku(g));
	if (s->jobs.n)
		(void)json_object_set_new(v, "jobs", job_grade_encode(s));
	return v;
}

/* --- for people --- */

/* Prints a placeholder if there is no value. */
static const char *shown(double value, int digits, char ret_text[static NUMBER_SIZE])
{
	if (isnan(value))
		return "-";
	(void)snprintf(ret_text, NUMBER_SIZE, "%.*f", digits, value);
	return ret_text;
}

static void print_faults(const struct grade *g, FILE *out)
{
	static const struct table_column columns[] = {
		{ .head = "FAULT" },
		{ .head = "HOSTS", .right = true },
		{ .head = "FOUND", .right = true },
		{ .head = "LATE", .right = true },
		{ .head = "WARNED", .right = true },
	};
	struct table table = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	size_t i;

	for (i = 0; i < N_GRADES; i++) {
		const struct grade_row *row = &g->rows[i];
		const uint64_t found = rows[i].onset ? row->in_time : row->found;
		struct table_row *cells;

		if (row->hosts == 0)
			continue;
		cells = table_add(&table);
		cells->paint = TABLE_NONE;
		cells->cells[0] = xstrdup(rows[i].words);
		cells->cells[1] = xasprintf("%llu", (unsigned long long)row->hosts);
		cells->cells[2] = xasprintf("%llu", (unsigned long long)found);
		cells->cells[3] = xasprintf("%llu", (unsigned long long)(row->found - found));
		cells->cells[4] = xasprintf("%llu", (unsigned long long)row->warned);
	}
	(void)table_print(&table, out, term_wants_colour(out), term_width(out));
	table_release(&table);
}

static void print_refusals(const struct grade *g, FILE *out)
{
	int by;

	for (by = 1; by < REFUSED_BY_COUNT; by++) {
		if (g->refused[by])
			(void)fprintf(out, "refused by %s: %llu hosts\n", refused_by_names[by],
				      (unsigned long long)g->refused[by]);
	}
}

void grade_print(const struct sim *s, FILE *out)
{
	const struct grade *g = &s->grade;
	const bool good = g->false_cordons == 0 && g->overruns == 0;
	const bool colour = term_wants_colour(out);
	char recall[NUMBER_SIZE], p50[NUMBER_SIZE], p99[NUMBER_SIZE];

	(void)fprintf(out,
		      "%s%.0f node-days: recall %s within a day, %llu false cordons, %llu cordons "
		      "(%.1f a day), budget %llu of %llu used at most%s\n",
		      paint_on(colour, good ? PAINT_GOOD : PAINT_BAD),
		      (double)s->options->nodes * days_of(s), shown(recall_of(g), 4, recall),
		      (unsigned long long)g->false_cordons, (unsigned long long)g->cordons,
		      (double)g->cordons / days_of(s), (unsigned long long)g->budget_max_used,
		      (unsigned long long)g->budget_cap, paint_off(colour));
	print_faults(g, out);
	(void)fprintf(
		out,
		"delay: p50 %s h, p99 %s h; %llu alarms of the fleet (%llu of them: a check of a "
		"SKU), %llu of domains, breaker opened %llu times; %llu reports judged, %llu tests "
		"ordered\n",
		shown(delay_at(g, 0.5) / 3600, 1, p50), shown(delay_at(g, 0.99) / 3600, 1, p99),
		(unsigned long long)g->alarms, (unsigned long long)g->sku_incidents,
		(unsigned long long)g->domain_incidents, (unsigned long long)g->breaker_opened,
		(unsigned long long)g->reports, (unsigned long long)g->tests);
	print_refusals(g, out);
	if (s->jobs.n)
		job_grade_print(s, out);
}
