/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/job/summary_detail.h"
#include "controller/job/summary_late.h"
#include "controller/job/summary_place.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define FORMAT "assay-attribution-summary/1"

/* A larger slowdown is caused by a clock that jumped. */
#define SLOWDOWN_MAX 1000.0
#define STEP_MAX_S 86400.0
#define SHARE_MAX 10.0
#define SPEED_MAX 1000.0

enum { NAMES_MAX = 4096 }; /* bytes of a suspect's name */

static const char *const class_names[] = { "none",   "compute", "link",	   "fabric",
					   "launch", "job",	"unclear", NULL };
static const char *const axis_names[] = { "dp", "stage", "rank", "replica", NULL };

/* --- numbers with an interval --- */

struct range {
	double value, low, high;
};

#define RANGE(member) offsetof(struct range, member)

static const struct jfield range_fields[] = {
	{ "value", J_REAL, RANGE(value), J_NULL, -SLOWDOWN_MAX, SLOWDOWN_MAX },
	{ "low", J_REAL, RANGE(low), J_NULL, -SLOWDOWN_MAX, SLOWDOWN_MAX },
	{ "high", J_REAL, RANGE(high), J_NULL, -SLOWDOWN_MAX, SLOWDOWN_MAX },
};

static int decode_range(const struct jval *v, void *member, struct err *err)
{
	struct range *range = member;

	*range = (struct range){ NAN, NAN, NAN };
	return json_is_null(v->value)
		       ? 0
		       : jval_decode(v, range_fields, ARRAY_SIZE(range_fields), 0, range, err);
}

static json_t *encode_range(const void *member)
{
	return jval_encode(range_fields, ARRAY_SIZE(range_fields), member);
}

/* --- suspects --- */

/* relative to its model, 1 is normal: in the job, and in its own tests; NAN: unknown */
struct speed {
	double now, tested;
};

static const struct jfield speed_fields[] = {
	{ "now", J_REAL, offsetof(struct speed, now), J_NULL, 0, SPEED_MAX },
	{ "tested", J_REAL, offsetof(struct speed, tested), J_NULL, 0, SPEED_MAX },
};

/* Not written by older versions of assay-attribute. */
static int decode_speed(const struct jval *v, void *member, struct err *err)
{
	return json_is_null(v->value)
		       ? 0
		       : jval_decode(v, speed_fields, ARRAY_SIZE(speed_fields), 0, member, err);
}

static json_t *encode_speed(const void *member)
{
	return jval_encode(speed_fields, ARRAY_SIZE(speed_fields), member);
}

struct suspect {
	char **hosts;
	json_t *ranks, *spans;
	double dp, stage;
	char *class;
	struct range share, alone, gain;
	struct speed speed;
	bool identifiable, counts;
};

static void suspect_release(struct suspect *s)
{
	size_t i;

	for (i = 0; s->hosts && s->hosts[i]; i++)
		free(s->hosts[i]);
	free(s->hosts);
	free(s->class);
	json_decref(s->ranks);
	json_decref(s->spans);
}

/* Is it a first and a last rank, none below `least`? */
static bool is_span(const json_t *ends, json_int_t least)
{
	const json_t *first = json_array_get(ends, 0), *last = json_array_get(ends, 1);

	return json_array_size(ends) == 2 && json_is_integer(first) && json_is_integer(last) &&
	       json_integer_value(first) >= least &&
	       json_integer_value(last) >= json_integer_value(first) &&
	       json_integer_value(last) < SUMMARY_RANKS_MAX;
}

/* All ranks as spans; empty if missing. */
static int decode_spans(const struct jval *v, void *member, struct err *err)
{
	const size_t n = json_array_size(v->value);
	CLEANUP(json_freep) json_t *spans = json_array();
	json_int_t least = 0;
	size_t i;

	if (json_is_null(v->value))
		return 0;
	if (n == 0 || n > SUMMARY_SPANS_MAX)
		return jval_fail(v, err, "expected 1 to %d spans of ranks", SUMMARY_SPANS_MAX);
	for (i = 0; i < n; i++) {
		const json_t *ends = json_array_get(v->value, i);

		if (!is_span(ends, least))
			return jval_fail(
				v, err, "span %zu: expected the first and the last rank, ascending",
				i);
		least = json_integer_value(json_array_get(ends, 1)) + 1;
		(void)json_array_append_new(spans, json_pack("[O, O]", json_array_get(ends, 0),
							     json_array_get(ends, 1)));
	}
	json_decref(*(json_t **)member);
	*(json_t **)member = TAKE(spans);
	return 0;
}

#define SUSPECT(member) offsetof(struct suspect, member)

static const struct jfield suspect_fields[] = {
	{ "hosts", J_STRV, SUSPECT(hosts), 0, .max = SUMMARY_HOSTS_MAX },
	{ "dp", J_REAL, SUSPECT(dp), J_NULL, 0, SUMMARY_RANKS_MAX },
	{ "stage", J_REAL, SUSPECT(stage), J_NULL, 0, SUMMARY_RANKS_MAX },
	{ "ranks", J_CUSTOM, SUSPECT(ranks), 0, .decode = summary_place_ranks,
	  .encode = summary_place_json },
	{ "rank_spans", J_CUSTOM, SUSPECT(spans), 0, .decode = decode_spans,
	  .encode = summary_place_json },
	{ "class", J_STRING, SUSPECT(class), J_REQUIRED },
	{ "share", J_CUSTOM, SUSPECT(share), 0, .decode = decode_range, .encode = encode_range },
	{ "alone", J_CUSTOM, SUSPECT(alone), 0, .decode = decode_range, .encode = encode_range },
	{ "gain", J_CUSTOM, SUSPECT(gain), 0, .decode = decode_range, .encode = encode_range },
	{ "speed", J_CUSTOM, SUSPECT(speed), 0, .decode = decode_speed, .encode = encode_speed },
	{ "identifiable", J_BOOL, SUSPECT(identifiable), 0 },
	{ "counts", J_BOOL, SUSPECT(counts), J_REQUIRED },
};

static bool among(const char *text, const char *const *names)
{
	size_t i;

	for (i = 0; names[i]; i++) {
		if (streq(text, names[i]))
			return true;
	}
	return false;
}

static int check_suspect(const struct jval *v, const struct suspect *s, struct err *err)
{
	const struct jval class = jval_get(v, "class");

	if (!among(s->class, class_names))
		return jval_fail(&class, err, "is not a class");
	return summary_place_check(v, s->hosts, err);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The sender's order of hosts is arbitrary: sort them. */
static void sort_hosts(struct suspect *s)
{
	size_t n = 0;

	while (s->hosts && s->hosts[n])
		n++;
	if (n > 1)
		qsort(s->hosts, n, sizeof(*s->hosts), compare_names);
}

static int decode_suspects(const struct jval *v, void *member, struct err *err)
{
	const size_t n = json_array_size(v->value);
	CLEANUP(json_freep) json_t *all = json_array();
	int r = jval_need_array(v, err);
	size_t i;

	if (r == 0 && n > SUMMARY_SUSPECTS_MAX)
		r = jval_fail(v, err, "has more than %d", SUMMARY_SUSPECTS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		const struct range none = { NAN, NAN, NAN };
		CLEANUP(suspect_release)
		struct suspect one = { .dp = NAN,
				       .stage = NAN,
				       .share = none,
				       .alone = none,
				       .gain = none,
				       .speed = { NAN, NAN },
				       .identifiable = true };
		const struct jval item = jval_at(v, i);

		r = jval_decode(&item, suspect_fields, ARRAY_SIZE(suspect_fields), 0, &one, err);
		if (r == 0)
			r = check_suspect(&item, &one, err);
		sort_hosts(&one);
		if (r == 0)
			(void)json_array_append_new(
				all, jval_encode(suspect_fields, ARRAY_SIZE(suspect_fields), &one));
	}
	if (r == 0) {
		json_decref(*(json_t **)member);
		*(json_t **)member = TAKE(all);
	}
	return r;
}

/* --- the heat map --- */

static bool is_cell(const json_t *value)
{
	const double cell = json_number_value(value);

	return json_is_null(value) || (json_is_number(value) && cell >= 0 && cell <= SLOWDOWN_MAX);
}

static bool is_row(const json_t *row, size_t columns)
{
	size_t i;

	if (!json_is_array(row) || json_array_size(row) != columns)
		return false;
	for (i = 0; i < columns; i++) {
		if (!is_cell(json_array_get(row, i)))
			return false;
	}
	return true;
}

static bool is_axis(const json_t *name)
{
	return json_is_string(name) && among(json_string_value(name), axis_names);
}

static int decode_heat(const struct jval *v, void *member, struct err *err)
{
	const json_t *values = json_object_get(v->value, "values");
	const json_t *row = json_object_get(v->value, "row");
	const json_t *column = json_object_get(v->value, "column");
	const size_t rows = json_array_size(values),
		     columns = json_array_size(json_array_get(values, 0));
	size_t i;

	if (json_is_null(v->value))
		return 0;
	if (!is_axis(row) || !is_axis(column) || rows == 0 || columns == 0 ||
	    rows > SUMMARY_CELLS_MAX || columns > SUMMARY_CELLS_MAX / rows)
		return jval_fail(v, err, "expected row, column and values of at most %d cells",
				 SUMMARY_CELLS_MAX);
	for (i = 0; i < rows; i++) {
		if (!is_row(json_array_get(values, i), columns))
			return jval_fail(v, err, "row %zu of values: expected %zu slowdowns", i,
					 columns);
	}
	json_decref(*(json_t **)member);
	*(json_t **)member = json_pack("{s:I, s:I, s:O, s:O, s:O}", "rows", (json_int_t)rows,
				       "columns", (json_int_t)columns, "row", row, "column", column,
				       "values", values);
	return 0;
}

/* --- everything --- */

struct found {
	char *format, *cause, *class, *sentence;
	uint64_t steps, ranks, hosts, dp, pp; /* dp, pp: 0 if missing */
	double step_s;
	struct range slowdown;
	bool enough;
	json_t *suspects, *heat, *lateness, *detail;
};

static void found_release(struct found *f)
{
	free(f->format);
	free(f->cause);
	free(f->class);
	free(f->sentence);
	json_decref(f->suspects);
	json_decref(f->heat);
	json_decref(f->lateness);
	json_decref(f->detail);
}

#define FOUND(member) offsetof(struct found, member)

static const struct jfield fields[] = {
	{ "format", J_STRING, FOUND(format), J_REQUIRED },
	{ "steps", J_U64, FOUND(steps), J_REQUIRED, 0, SUMMARY_STEPS_MAX },
	{ "ranks", J_U64, FOUND(ranks), J_REQUIRED, 0, UINT32_MAX },
	{ "hosts", J_U64, FOUND(hosts), 0, 0, UINT32_MAX },
	{ "dp", J_U64, FOUND(dp), 0, 0, UINT32_MAX },
	{ "pp", J_U64, FOUND(pp), 0, 0, UINT32_MAX },
	{ "step_s", J_REAL, FOUND(step_s), J_NULL, 0, STEP_MAX_S },
	{ "slowdown", J_CUSTOM, FOUND(slowdown), J_REQUIRED, .decode = decode_range,
	  .encode = encode_range },
	{ "cause", J_STRING, FOUND(cause), 0 },
	{ "class", J_STRING, FOUND(class), J_REQUIRED },
	{ "enough", J_BOOL, FOUND(enough), J_REQUIRED },
	{ "suspects", J_CUSTOM, FOUND(suspects), 0, .decode = decode_suspects,
	  .encode = summary_place_json },
	{ "heat", J_CUSTOM, FOUND(heat), 0, .decode = decode_heat, .encode = summary_place_json },
	{ "lateness", J_CUSTOM, FOUND(lateness), 0, .decode = summary_late_decode,
	  .encode = summary_place_json },
	{ "detail", J_CUSTOM, FOUND(detail), 0, .decode = summary_detail_decode,
	  .encode = summary_place_json },
	{ "sentence", J_STRING, FOUND(sentence), J_REQUIRED },
};

static int check_found(const struct jval *root, struct found *f, struct err *err)
{
	const struct jval format = jval_get(root, "format"), class = jval_get(root, "class");
	const struct jval cause = jval_get(root, "cause");

	if (!streq(f->format, FORMAT))
		return jval_fail(&format, err, "is not " FORMAT);
	if (!among(f->class, class_names))
		return jval_fail(&class, err, "is not a class");
	if (f->ranks > SUMMARY_RANKS_MAX)
		return err_set(err, ERANGE, "the job has %llu ranks, and at most %d can be analysed",
			       (unsigned long long)f->ranks, SUMMARY_RANKS_MAX);
	if (f->hosts > SUMMARY_JOB_HOSTS_MAX)
		return err_set(err, ERANGE, "the job has %llu hosts, and at most %d can be analysed",
			       (unsigned long long)f->hosts, SUMMARY_JOB_HOSTS_MAX);
	if (f->cause && strlen(f->cause) > SUMMARY_CAUSE_MAX)
		return jval_fail(&cause, err, "is longer than %d bytes", SUMMARY_CAUSE_MAX);
	if (strlen(f->sentence) > SUMMARY_SENTENCE_MAX)
		f->sentence[SUMMARY_SENTENCE_MAX] = '\0';
	(void)utf8_clean_in_place(f->sentence);
	(void)utf8_clean_in_place(f->cause);
	return 0;
}

static const json_t *first_that_counts(const json_t *suspects)
{
	size_t i;

	for (i = 0; i < json_array_size(suspects); i++) {
		const json_t *one = json_array_get(suspects, i);

		if (json_is_true(json_object_get(one, "counts")))
			return one;
	}
	return NULL;
}

void summary_name_suspect(json_t *summary)
{
	const json_t *suspect = first_that_counts(json_object_get(summary, "suspects"));
	CLEANUP(freep) char *name = suspect ? summary_suspect_name(suspect) : NULL;

	(void)json_object_set_new(summary, "suspect", name ? json_string(name) : json_null());
}

/* Add members for lists. */
static void add_flat(json_t *summary, const struct found *f)
{
	static const char *const keys[] = { "slowdown", "slowdown_low", "slowdown_high" };
	const double values[] = { f->slowdown.value, f->slowdown.low, f->slowdown.high };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set_new(summary, keys[i],
					  isnan(values[i]) ? json_null() : json_real(values[i]));
	summary_name_suspect(summary);
	(void)json_object_set_new(summary, "label", f->cause ? json_string(f->cause) : json_null());
	(void)json_object_set_new(summary, "cause", summary_cause(summary));
}

int summary_read(const char *text, json_t **ret, struct err *err)
{
	CLEANUP(found_release)
	struct found found = { .step_s = NAN, .slowdown = { NAN, NAN, NAN } };
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(json_freep) json_t *summary = NULL;
	struct jval root;
	int r = json_parse(text, strlen(text), "summary", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "summary");
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), 0, &found, err);
	if (r == 0)
		r = check_found(&root, &found, err);
	if (r < 0)
		return r;
	if (!found.suspects)
		found.suspects = json_array();
	summary = jval_encode(fields, ARRAY_SIZE(fields), &found);
	add_flat(summary, &found);
	*ret = TAKE(summary);
	return 0;
}

/* --- names --- */

char *summary_suspect_name(const json_t *suspect)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NAMES_MAX);
	const json_t *hosts = json_object_get(suspect, "hosts");
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++)
		(void)strbuf_printf(&text, "%s%s", i > 0 ? "," : "",
				    json_string_value(json_array_get(hosts, i)));
	if (json_array_size(hosts) == 0)
		(void)strbuf_printf(&text, "dp %.0f stage %.0f",
				    json_number_value(json_object_get(suspect, "dp")),
				    json_number_value(json_object_get(suspect, "stage")));
	return xstrdup(strbuf_text(&text));
}

size_t summary_ranks(const json_t *suspect, int64_t ret_spans[static SUMMARY_SPANS_MAX][2])
{
	const json_t *spans = json_object_get(suspect, "rank_spans");
	const json_t *ranks = json_object_get(suspect, "ranks");
	size_t n = MIN(json_array_size(spans), (size_t)SUMMARY_SPANS_MAX), i;

	for (i = 0; i < n; i++) {
		const json_t *ends = json_array_get(spans, i);

		ret_spans[i][0] = json_integer_value(json_array_get(ends, 0));
		ret_spans[i][1] = json_integer_value(json_array_get(ends, 1));
	}
	if (n > 0 || !is_span(ranks, 0))
		return n;
	ret_spans[0][0] = json_integer_value(json_array_get(ranks, 0));
	ret_spans[0][1] = json_integer_value(json_array_get(ranks, 1));
	return 1;
}

json_t *summary_cause(const json_t *summary)
{
	const char *class = json_string_value(json_object_get(summary, "class"));
	json_t *label = json_object_get(summary, "label");

	if (streq(class, "none"))
		return json_null();
	return streq(class, "job") && json_is_string(label) ? json_incref(label)
							    : json_string(class);
}
