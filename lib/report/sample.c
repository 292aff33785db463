/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/report/report_tables.h"

enum { PATH_LINKS_MAX = 64, WITH_MAX = 64 };

const char *const sample_state_names[] = {
	[SAMPLE_MEASURED] = "measured",
	[SAMPLE_BUSY] = "busy",
	[SAMPLE_FOREIGN_TRAFFIC] = "foreign-traffic",
	[SAMPLE_SET_UP] = "set-up",
	[SAMPLE_TIMEOUT] = "timeout",
	[SAMPLE_ABORTED] = "aborted",
	NULL,
};
const char *const sample_better_names[] = {
	[BETTER_HIGHER] = "higher",
	[BETTER_LOWER] = "lower",
	[BETTER_NONE] = "none",
	NULL,
};
const char *const severity_names[] = {
	[SEVERITY_FAIL] = "fail",
	[SEVERITY_INFO] = "info",
	[SEVERITY_WARN] = "warn",
	[SEVERITY_FATAL] = "fatal",
	NULL,
};

bool sample_unit_known(const char *unit)
{
	static const char *const units[] = { "B/s", "s", "FLOP/s", "1" };
	size_t i = 0;

	while (i < ARRAY_SIZE(units) && !streq(unit, units[i]))
		i++;
	return i < ARRAY_SIZE(units);
}

bool sample_class_possible(const char *glob)
{
	static const char *const classes[] = {
		"self", "pix", "pxb", "phb", "node", "sys", "virtual"
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(classes) && !glob_match(glob, classes[i]))
		i++;
	return i < ARRAY_SIZE(classes);
}

#define AT(m) offsetof(struct sample, m)

static const struct jfield fields[] = {
	{ "check", J_STRING, AT(check), J_REQUIRED },
	{ "subject", J_STRING, AT(subject), J_REQUIRED },
	{ "value", J_REAL, AT(value), J_NULL },
	{ "unit", J_STRING, AT(unit), 0 },
	{ "better", J_ENUM, AT(better), 0, .names = sample_better_names },
	{ "ok", J_TRISTATE, AT(ok), J_NULL },
	{ "state", J_ENUM, AT(state), J_REQUIRED, .names = sample_state_names },
	{ "from", J_STRING, AT(from), 0 },
	{ "to", J_STRING, AT(to), 0 },
	{ "class", J_STRING, AT(locality), 0 },
	{ "path", J_STRV, AT(path), 0, .max = PATH_LINKS_MAX },
	{ "params", J_OBJECT, AT(params), 0 },
	{ "with", J_STRV, AT(with), 0, .max = WITH_MAX },
	{ "code", J_STRING, AT(code), 0 },
	{ "n", J_U64, AT(n), 0 },
	{ "min", J_REAL, AT(min), 0 },
	{ "max", J_REAL, AT(max), 0 },
	{ "stddev", J_REAL, AT(stddev), 0, .max = DBL_MAX },
	{ "p50", J_REAL, AT(p50), 0 },
	{ "p99", J_REAL, AT(p99), 0 },
	{ "w", J_REALS, AT(w), 0, .max = SAMPLE_WINDOWS_MAX },
	{ "start", J_REAL, AT(start), 0 },
	{ "seconds", J_REAL, AT(seconds), 0, .max = RUN_SECONDS_MAX },
	{ "severity", J_ENUM, AT(severity), 0, .names = severity_names },
	{ "note", J_STRING, AT(note), 0 },
	{ "parts", J_JSON, AT(parts), 0 },
};

const struct jtable sample_table = { fields, ARRAY_SIZE(fields) };

struct sample sample_init(void)
{
	return (struct sample){
		.value = NAN,
		.better = BETTER_NONE,
		.ok = TRI_UNKNOWN,
		.state = SAMPLE_MEASURED,
		.min = NAN,
		.max = NAN,
		.stddev = NAN,
		.p50 = NAN,
		.p99 = NAN,
		.start = NAN,
		.seconds = NAN,
		.severity = SEVERITY_FAIL,
	};
}

void sample_release(struct sample *s)
{
	free(s->check);
	free(s->subject);
	free(s->unit);
	free(s->from);
	free(s->to);
	free(s->locality);
	strv_free(s->path);
	json_decref(s->params);
	strv_free(s->with);
	free(s->code);
	free(s->w.v);
	free(s->note);
	json_decref(s->parts);
	*s = sample_init();
}

/* The values present must ascend: a spread that contradicts itself was not measured. */
static int check_spread(const struct sample *s, struct err *err)
{
	const struct {
		const char *key;
		double value;
	} parts[] = { { "min", s->min }, { "p50", s->p50 }, { "p99", s->p99 }, { "max", s->max } };
	size_t i, last = 0;

	for (i = 1; i < ARRAY_SIZE(parts); i++) {
		if (isnan(parts[i].value))
			continue;
		if (parts[i].value < parts[last].value)
			return err_set(err, EINVAL, "%s %.15g is above %s %.15g", parts[last].key,
				       parts[last].value, parts[i].key, parts[i].value);
		last = i;
	}
	return 0;
}

int sample_check(const struct sample *s, struct err *err)
{
	bool has_result = !isnan(s->value) || s->ok != TRI_UNKNOWN;

	if (!s->check[0] || !s->subject[0])
		return err_set(err, EINVAL, "check and subject must not be empty");
	if (s->state != SAMPLE_MEASURED && has_result)
		return err_set(err, EINVAL, "value and ok must be null in state %s",
			       sample_state_names[s->state]);
	if (!isnan(s->value) && !s->unit)
		return err_set(err, EINVAL, "a value without a unit");
	return check_spread(s, err);
}

static int check_sample(const struct jval *v, const struct sample *s, struct err *err)
{
	struct err why = ERR_INIT;

	return sample_check(s, &why) < 0 ? jval_fail(v, err, "%s", why.msg) : 0;
}

int sample_decode(const struct jval *v, struct sample *ret, struct err *err)
{
	struct jval version = jval_get(v, "v");
	struct sample s = sample_init();
	int r;

	if (version.value && json_integer_value(version.value) != 1)
		return jval_fail(&version, err, "expected 1: this program reads sample/1 only");
	r = jval_decode(v, fields, ARRAY_SIZE(fields), 0, &s, err);

	if (r == 0)
		r = check_sample(v, &s, err);
	if (r < 0)
		sample_release(&s);
	else
		*ret = s;
	return r;
}

json_t *sample_encode(const struct sample *s)
{
	CLEANUP(json_freep) json_t *members = jval_encode(fields, ARRAY_SIZE(fields), s);
	json_t *object = json_pack("{s:i}", "v", 1);

	json_object_update(object, members);
	if (s->n == 0)
		json_object_del(object, "n");
	if (s->severity == SEVERITY_FAIL)
		json_object_del(object, "severity");
	return object;
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Linear interpolation between the closest ranks; `sorted` has n >= 1 values. */
static double quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t low = (size_t)at;
	size_t high = MIN(low + 1, n - 1);

	return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

static void group_windows(struct sample *s, const double *values, size_t n)
{
	size_t groups = MIN(n, (size_t)SAMPLE_WINDOWS_MAX), g;

	free(s->w.v);
	s->w = (struct jreals){ .v = xcalloc(groups, sizeof(double)), .n = groups };
	for (g = 0; g < groups; g++) {
		size_t first = g * n / groups, end = (g + 1) * n / groups, i;

		for (i = first; i < end; i++)
			s->w.v[g] += values[i] / (double)(end - first);
	}
}

void sample_set_windows(struct sample *s, const double *values, size_t n)
{
	CLEANUP(freep) double *sorted = xcalloc(n, sizeof(double));
	double sum = 0, squares = 0, mean;
	size_t i;

	memcpy(sorted, values, n * sizeof(double));
	qsort(sorted, n, sizeof(double), compare_reals);
	for (i = 0; i < n; i++)
		sum += values[i];
	mean = sum / (double)n;
	for (i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	s->value = quantile(sorted, n, 0.5);
	s->n = n;
	s->min = sorted[0];
	s->max = sorted[n - 1];
	s->stddev = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
	s->p50 = s->value;
	s->p99 = quantile(sorted, n, 0.99);
	group_windows(s, values, n);
}
