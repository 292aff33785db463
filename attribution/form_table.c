/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/form_kinds.h"
#include "attribution/words.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { WORKERS_SHOWN = 8, TYPES_SHOWN = 8, WORDS_MAX = 4096 };

/* Where a slowdown is worth a colour: as the labels have it, and half way to there. */
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

/* A slowdown and what it is the loss of. */
static void add_slowdown(struct table *table, char *what, double s)
{
	struct table_row *row = table_add(table);

	row->cells[0] = what;
	row->cells[1] = times(s);
	row->cells[2] = isfinite(s) ? xasprintf("%.1f %%", 100 * (1 - 1 / s)) : xstrdup("-");
	row->paint = paint_of(s);
}

static void show_types(const struct attribution *a, FILE *out, bool colour)
{
	static const struct table_column columns[] = { { "OPERATIONS" },
						       { "SLOWDOWN", .right = true },
						       { "LOST", .right = true } };
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns) };
	bool shown[OPTYPE_N] = { false };
	int i;

	add_slowdown(&table, xstrdup("all"), a->slowdown.s);
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
		add_slowdown(&table, xasprintf("only %s", optype_reported(worst)),
			     a->slowdown.types[worst]);
	}
	(void)table_print(&table, out, colour, term_width(out));
}

/* Never "-0 %". New memory. */
static char *share_cell(double share)
{
	return xasprintf("%.0f %%", round(100 * share) + 0);
}

static void show_shares(const struct attribution *a, FILE *out, bool colour)
{
	static const struct table_column columns[] = { { "IF MENDED" },
						       { "OF THE LOSS GOES", .right = true } };
	const struct slowdown *s = &a->slowdown;
	const struct {
		const char *what;
		double share;
	} rows[] = {
		{ "the slowest 3 % of the workers", s->top.share },
		{ "workers that alone cost half of it", s->x.n ? s->x.share : NAN },
		{ "the last stage", s->last_stage.share_without },
		{ "uneven micro-batches", s->levelled },
		{ "pauses in single forwards", s->pauses },
		{ "all communication", s->comm },
	};
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns) };
	struct table_row *row;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!isfinite(rows[i].share))
			continue;
		row = table_add(&table);
		row->cells[0] = xstrdup(rows[i].what);
		row->cells[1] = share_cell(rows[i].share);
	}
	row = table_add(&table);
	row->cells[0] = xasprintf("node %s", a->trace->job.nodes[s->top_node]);
	row->cells[1] = isfinite(s->node_shares[s->top_node])
				? share_cell(s->node_shares[s->top_node])
				: xstrdup("-");
	(void)table_print(&table, out, colour, term_width(out));
}

/* What a worker costs: exactly, where that was found out, else at most. */
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
		{ "SLOWDOWN BY IT", .right = true },
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
	bool colour = term_wants_colour(out);

	show_head(a, i, more, out);
	show_types(a, out, colour);
	(void)fputc('\n', out);
	show_shares(a, out, colour);
	(void)fputc('\n', out);
	show_workers(a, out, colour);
	(void)fputc('\n', out);
	words_write(a, &words);
	text_wrap(strbuf_text(&words), out, 0, term_width(out));
}
