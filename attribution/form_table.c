/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/form_kinds.h"
#include "attribution/lateness_document.h"
#include "attribution/outlook_show.h"
#include "attribution/trace_job.h"
#include "attribution/words.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { WORKERS_SHOWN = 8, TYPES_SHOWN = 8, WORDS_MAX = 4096 };

/* Thresholds for colours: as for labels, and half of it. */
#define BAD 1.1
#define WARN 1.05

static int paint_of(double s)
{
	return s >= BAD ? PAINT_BAD : s >= WARN ? PAINT_WARN : TABLE_NONE;
}

static char *times(double value)
{
	return isfinite(value) ? xasprintf("%.3f", value) : xstrdup("-");
}

/* Round to that many digits; never "-0". */
static double rounded(double value, int digits)
{
	double unit = pow(10, digits);

	return round(value * unit) / unit + 0.0;
}

/* "[1.96, 1.99]". The caller frees it. */
static char *interval_cell(const struct interval *interval, double scale, int digits)
{
	if (!isfinite(interval->low))
		return xstrdup("-");
	return xasprintf("[%.*f, %.*f]", digits, rounded(scale * interval->low, digits), digits,
			 rounded(scale * interval->high, digits));
}

/* A slowdown, its interval, and the loss that it means. */
static void add_slowdown(struct table *table, char *what, const struct interval *interval)
{
	struct table_row *row = table_add(table);
	double s = interval->value;

	row->cells[0] = what;
	row->cells[1] = times(s);
	row->cells[2] = isfinite(s) ? xasprintf("%.1f %%", 100 * (1 - 1 / s)) : xstrdup("-");
	row->cells[3] = interval_cell(interval, 1, 3);
	row->paint = paint_of(s);
}

static void show_types(const struct attribution *a, FILE *out, bool colour)
{
	static const struct table_column columns[] = { { "OPERATIONS" },
						       { "SLOWDOWN", .right = true },
						       { "LOST", .right = true },
						       { "95 % INTERVAL", .right = true } };
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns) };
	struct interval only;
	bool shown[OPTYPE_N] = { false };
	int i;

	add_slowdown(&table, xstrdup("all"), &a->s);
	for (i = 0; i < TYPES_SHOWN; i++) {
		enum optype type, worst = OPTYPE_N;

		for (type = 0; type < OPTYPE_N; type++) {
			if (slowdown_type(type) != type || isnan(a->slowdown.types[type]) ||
			    shown[type])
				continue;
			if (worst == OPTYPE_N || a->slowdown.types[type] > a->slowdown.types[worst])
				worst = type;
		}
		if (worst == OPTYPE_N)
			break;
		shown[worst] = true;
		only = attribution_slowdown(a, a->slowdown.step_types + worst * a->trace->n_steps);
		add_slowdown(&table, xasprintf("only %s", optype_reported(worst)), &only);
	}
	(void)table_print(&table, out, colour, term_width(out));
}

/* Never "-0 %". The caller frees it. */
static char *share_cell(double share)
{
	return xasprintf("%.0f %%", round(100 * share) + 0);
}

static char *node_label(const struct attribution *a)
{
	return xasprintf("node %s", a->trace->job.nodes[a->slowdown.top_node]);
}

/* Shares above 100 % are explained below the table. */
static void show_shares(const struct attribution *a, FILE *out, bool colour)
{
	static const struct table_column columns[] = { { "IF FIXED" },
						       { "LOSS RECOVERED", .right = true },
						       { "95 % INTERVAL", .right = true } };
	static const char *const what[FIX_N] = {
		[FIX_TOP] = "the slowest 3 % of the workers",
		[FIX_X] = "the workers that alone cause half of it",
		[FIX_LAST_STAGE] = "the last stage",
		[FIX_LEVELLED] = "uneven micro-batches",
		[FIX_PAUSES] = "pauses in single forward passes",
		[FIX_COMM] = "all communication",
	};
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns) };
	struct table_row *row;
	bool beyond = false;
	size_t i;

	for (i = 0; i < FIX_N; i++) {
		struct interval share;

		/* On a single node it is the whole job: there is no other node to compare with. */
		if (!a->slowdown.step_fixed[i] || (i == FIX_NODE && a->trace->job.n_nodes == 1))
			continue;
		share = attribution_share(a, a->slowdown.step_fixed[i]);
		if (!isfinite(share.value))
			continue;
		row = table_add(&table);
		row->cells[0] = i == FIX_NODE ? node_label(a) : xstrdup(what[i]);
		row->cells[1] = share_cell(share.value);
		row->cells[2] = interval_cell(&share, 100, 0);
		beyond |= round(100 * share.value) > 100;
	}
	if (a->slowdown.top_node < 0) {
		row = table_add(&table);
		row->cells[0] = xstrdup("any one node");
		row->cells[1] = xstrdup("-");
		row->cells[2] = xstrdup("-");
	}
	(void)table_print(&table, out, colour, term_width(out));
	if (beyond)
		text_wrap(
			"More than 100 %: the loss is measured against the mean of all operations, "
			"which includes the slow ones; without them a step is shorter still.",
			out, 0, term_width(out));
}

/* The best hosts to replace, and whether that is certain. */
static void show_suspects(const struct attribution *a, FILE *out, bool colour)
{
	static const struct table_column columns[] = {
		{ "IF REPLACED" },
		{ "RANKS", .right = true },
		{ "STEP SHORTER", .right = true },
		{ "95 % INTERVAL", .right = true },
		{ "SHARE", .right = true },
		{ "95 % INTERVAL", .right = true },
		{ "ALONE", .right = true },
		{ "BLAMED" },
	};
	const struct suspects *s = &a->suspects;
	const struct trace_job *job = &a->trace->job;
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns) };
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct suspect *suspect = &s->list[i];
		struct table_row *row = table_add(&table);

		row->cells[0] = suspect->node < 0
					? xasprintf("dp %u stage %u", suspect->worst / job->pp,
						    suspect->worst % job->pp)
					: utf8_clean(job->nodes[suspect->node]);
		row->cells[1] =
			xasprintf("%" PRId64 "-%" PRId64, suspect->first_rank, suspect->last_rank);
		row->cells[2] = xasprintf("%.1f %%", rounded(100 * s->gain.value, 1));
		row->cells[3] = interval_cell(&s->gain, 100, 1);
		row->cells[4] = times(s->share.value);
		row->cells[5] = interval_cell(&s->share, 1, 2);
		row->cells[6] = times(suspect->alone.value);
		row->cells[7] = xstrdup(s->counts	   ? "yes"
					: !s->enough	   ? "too few steps"
					: !s->identifiable ? "no: no peer does the same work"
							   : "no");
		row->paint = s->counts ? PAINT_BAD : TABLE_NONE;
	}
	if (s->n == 0)
		return;
	(void)table_print(&table, out, colour, term_width(out));
	(void)fputc('\n', out);
}

/* The cost of a worker: exact if known, else an upper bound. */
static double cost_of(const struct slowdown *s, size_t w)
{
	return isfinite(s->exact[w]) ? s->exact[w] : s->workers[w];
}

static void show_workers(const struct attribution *a, FILE *out, bool colour)
{
	static const struct table_column columns[] = {
		{ "WORKER" },
		{ "RANK", .right = true },
		{ "NODE" },
		{ "ITS SLOWDOWN", .right = true },
		{ "HEAT MAP", .right = true, .leave = 1 },
	};
	const struct trace_job *job = &a->trace->job;
	const struct slowdown *s = &a->slowdown;
	size_t n = (size_t)job->dp * job->pp, i, w;
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns) };
	CLEANUP(freep) bool *shown = xcalloc(n, sizeof(*shown));

	for (i = 0; i < WORKERS_SHOWN && i < n; i++) {
		size_t worst = n;
		struct table_row *row = table_add(&table);

		for (w = 0; w < n; w++) {
			if (!shown[w] && (worst == n || cost_of(s, w) > cost_of(s, worst)))
				worst = w;
		}
		shown[worst] = true;
		row->cells[0] = xasprintf("dp %zu stage %zu", worst / job->pp, worst % job->pp);
		row->cells[1] = xasprintf("%" PRId32, job->workers[worst].rank);
		row->cells[2] = utf8_clean(job->nodes[job->workers[worst].node]);
		row->cells[3] = times(cost_of(s, worst));
		row->cells[4] = times(s->workers[worst]);
		row->paint = paint_of(cost_of(s, worst));
	}
	(void)table_print(&table, out, colour, term_width(out));
	if (n > WORKERS_SHOWN)
		(void)fprintf(out, "and %zu more\n", n - WORKERS_SHOWN);
}

static void show_head(const struct attribution *a, size_t i, bool more, FILE *out)
{
	const struct trace_job *job = &a->trace->job;
	CLEANUP(freep) char *name = utf8_clean(job->name ? job->name : "without a name");

	if (i || more)
		(void)fprintf(out, "%sWindow %zu, steps %" PRId64 " to %" PRId64 "\n", i ? "\n" : "",
			      i, a->trace->steps[0], a->trace->steps[a->trace->n_steps - 1]);
	(void)fprintf(
		out,
		"Job %s: dp %u, pp %u, tp %u, vpp %u; %zu steps, %zu operations\n"
		"A step: %.4g s recorded, %.4g s by its operations, %.4g s without stragglers\n\n",
		name, job->dp, job->pp, job->tp, job->vpp, a->trace->n_steps,
		a->trace->n_keys * a->trace->n_lanes, a->slowdown.recorded, a->slowdown.simulated,
		a->slowdown.ideal);
}

void form_table(const struct attribution *a, size_t i, bool more, FILE *out)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	CLEANUP(json_freep) json_t *lateness = lateness_document(a->trace, &a->lateness);
	bool colour = term_wants_colour(out);

	show_head(a, i, more, out);
	show_types(a, out, colour);
	(void)fputc('\n', out);
	show_shares(a, out, colour);
	(void)fputc('\n', out);
	show_workers(a, out, colour);
	(void)fputc('\n', out);
	show_suspects(a, out, colour);
	words_write(a, &words);
	if (!a->lateness.why)
		(void)strbuf_printf(&words, " %s",
				    json_string_value(json_object_get(lateness, "sentence")));
	text_wrap(strbuf_text(&words), out, 0, term_width(out));
	if (a->remedies)
		outlook_show(a->remedies, out, colour, term_width(out));
}
