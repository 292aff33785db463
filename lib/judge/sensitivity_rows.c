/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/sensitivity_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/sensitivity.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

static bool same_row(const struct sample *a, const struct sample *b)
{
	const char *class_a = a->locality ? a->locality : "";
	const char *class_b = b->locality ? b->locality : "";

	return streq(a->check, b->check) && streq(class_a, class_b);
}

/* True if `loss` is larger than that of the subject chosen so far (NULL: none yet). */
static bool is_larger(const struct loss *loss, const struct loss *chosen)
{
	return !isnan(loss->limit) && (!chosen || loss->part > chosen->part);
}

static void add(struct sensitivity_row *row, const struct sensitivity *s)
{
	const bool measured = s->sense != SENSE_NOT_MEASURED;
	const bool seen = !isnan(s->warns.limit), fails = !isnan(s->fails.limit);

	row->sense = MAX(row->sense, s->sense);
	row->n++;
	row->n_measured += measured;
	row->n_named += s->level >= VERDICT_WARN;
	row->n_seen += seen;
	row->n_failing += fails;
	if (is_larger(&s->warns, row->warns ? &row->warns->warns : NULL))
		row->warns = s;
	if (is_larger(&s->fails, row->fails ? &row->fails->fails : NULL))
		row->fails = s;
	if (seen && s->level < VERDICT_WARN)
		row->least = fmin(row->least, s->warns.part); /* the number, if one is NAN */
	if (measured && !seen)
		row->blind = s;
	if (seen && !fails)
		row->mild = s;
}

/* The median over the subjects of the member at `offset`, without NANs. */
static double median_over(const struct sensitivity *all, size_t n, const struct sample *like,
			  size_t offset)
{
	CLEANUP(freep) double *values = xcalloc(n + 1, sizeof(*values));
	size_t known = 0, i;

	for (i = 0; i < n; i++) {
		double value;

		memcpy(&value, (const char *)&all[i] + offset, sizeof(value));
		if (!isnan(value) && same_row(all[i].sample, like))
			values[known++] = value;
	}
	if (known == 0)
		return NAN;
	stats_sort(values, known);
	return stats_median(values, known);
}

size_t sensitivity_rows(const struct sensitivity *all, size_t n, struct sensitivity_row **ret_rows)
{
	struct sensitivity_row *rows = xcalloc(n + 1, sizeof(*rows));
	size_t n_rows = 0, i, at;

	for (i = 0; i < n; i++) {
		for (at = 0; at < n_rows && !same_row(rows[at].sample, all[i].sample); at++)
			;
		if (at == n_rows)
			rows[n_rows++] =
				(struct sensitivity_row){ .sample = all[i].sample, .least = NAN };
		add(&rows[at], &all[i]);
	}
	for (at = 0; at < n_rows; at++) {
		rows[at].windows =
			median_over(all, n, rows[at].sample, offsetof(struct sensitivity, windows));
		rows[at].runs =
			median_over(all, n, rows[at].sample, offsetof(struct sensitivity, runs));
	}
	*ret_rows = rows;
	return n_rows;
}

double sensitivity_noise(const struct sensitivity_row *row)
{
	return isnan(row->runs) ? row->windows : row->runs;
}

double sensitivity_sure(const struct sensitivity_row *row)
{
	const double noise = sensitivity_noise(row);

	/* Counts have no noise. */
	if (!row->warns || row->warns->counts)
		return row->warns ? row->warns->warns.part : NAN;
	return row->warns->warns.part + SENSITIVITY_SURE * noise;
}

/* What `s` lacks for a reference: "2 more good runs (own history), or a SKU file". */
static char *missing_reference(const struct sensitivity *s)
{
	if (!s->remembered || s->n_history >= REFERENCE_N_MIN)
		return xstrdup("a SKU file with a value for it");
	return xasprintf("%zu more good run%s for own history, or a SKU file with a value for it",
			 REFERENCE_N_MIN - s->n_history,
			 REFERENCE_N_MIN - s->n_history == 1 ? "" : "s");
}

static char *needs_of_blind(const struct sensitivity_row *row)
{
	CLEANUP(freep) char *what = missing_reference(row->blind);
	CLEANUP(freep) char *who = NULL;

	if (row->n_seen > 0)
		who = xasprintf("for %s: ", row->blind->sample->subject);
	if (row->blind->leaning)
		return xasprintf("%speers that agree (half of them are low), or %s", who ? who : "",
				 what);
	if (row->blind->n > 0)
		return xasprintf("%sa floor above 0 in the SKU file", who ? who : "");
	return xasprintf("%snothing to compare with: %s", who ? who : "", what);
}

static bool is_noisy(const struct sensitivity_row *row)
{
	const struct sensitivity *s = row->warns;

	return s && !s->counts && s->level < VERDICT_WARN &&
	       s->warns.part < SENSITIVITY_CHANCE * sensitivity_noise(row);
}

char *sensitivity_needs(const struct sensitivity_row *row)
{
	CLEANUP(freep) char *what = NULL;

	if (row->n_measured == 0)
		return xasprintf("a run that measures it: the last one was %s",
				 sample_state_names[row->sample->state]);
	if (row->sense < SENSE_NOTHING || row->sense == SENSE_PROBE)
		return NULL;
	if (row->blind && row->blind->sense != SENSE_PROBE)
		return needs_of_blind(row);
	if (is_noisy(row))
		return xasprintf("several runs: one differs by %.2g %% from the next",
				 100 * sensitivity_noise(row));
	if (!row->mild)
		return NULL;
	what = missing_reference(row->mild);
	return xasprintf("for a failure, a second reference: %s", what);
}

static json_t *percent(double part)
{
	return json_number(100 * part);
}

static json_t *encode_sources(unsigned sources)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; verdict_source_names[i]; i++) {
		if (sources & 1u << i)
			json_array_append_new(names, json_string(verdict_source_names[i]));
	}
	return names;
}

static json_t *encode_loss(const struct sensitivity *s, const struct loss *loss)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "subject", s->sample->subject, "value",
			 json_number(s->sample->value), "percent", percent(loss->part), "amount",
			 json_number(loss->amount), "limit", json_number(loss->limit), "by",
			 encode_sources(loss->sources));
}

/* Distance from expected value to floor: what a typical device can lose unnoticed. */
static json_t *encode_reference(const struct expectation *e)
{
	return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "source",
			 verdict_source_names[e->source], "n", (json_int_t)e->n, "expected",
			 json_number(e->expected), "floor", json_number(e->floor), "far",
			 json_number(e->limit), "margin_percent",
			 percent(fabs(e->expected - e->floor) / e->expected), "spread_percent",
			 percent(e->sigma / e->expected));
}

static json_t *encode_references(const struct sensitivity *s)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; s && i < s->n; i++)
		json_array_append_new(list, encode_reference(&s->e[i]));
	return list;
}

json_t *sensitivity_encode(const struct sensitivity_row *row)
{
	const struct sample *s = row->sample;
	CLEANUP(freep) char *needs = sensitivity_needs(row);
	const bool seen = row->warns != NULL, fails = row->fails != NULL;

	return json_pack(
		"{s:s, s:s?, s:s?, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:{s:o, s:o}, "
		"s:o, s:o, s:s?}",
		"check", s->check, "class", s->locality, "unit", s->unit, "better",
		sample_better_names[s->better], "sense", sense_names[row->sense], "subjects",
		(json_int_t)row->n, "measured", (json_int_t)row->n_measured, "named",
		(json_int_t)row->n_named, "seen", (json_int_t)row->n_seen, "failing",
		(json_int_t)row->n_failing, "warns",
		seen ? encode_loss(row->warns, &row->warns->warns) : json_null(), "fails",
		fails ? encode_loss(row->fails, &row->fails->fails) : json_null(), "references",
		encode_references(row->warns), "noise", "within_run_percent", percent(row->windows),
		"between_runs_percent", percent(row->runs), "least_percent", percent(row->least),
		"one_run_percent", percent(sensitivity_sure(row)), "needs", needs);
}
