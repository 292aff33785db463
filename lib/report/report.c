/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/report/report.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/report_tables.h"

const char *const problem_code_names[] = {
	[PROBLEM_TIMEOUT] = "timeout",
	[PROBLEM_CRASHED] = "crashed",
	[PROBLEM_EXIT] = "exit",
	[PROBLEM_GARBAGE] = "garbage",
	[PROBLEM_TOO_MUCH] = "too-much",
	[PROBLEM_EMPTY] = "empty",
	[PROBLEM_NOT_EXECUTABLE] = "not-executable",
	[PROBLEM_NOT_APPLICABLE] = "not-applicable",
	[PROBLEM_SET_UP] = "set-up",
	[PROBLEM_BUSY] = "busy",
	NULL,
};

static const struct jfield problem_fields[] = {
	{ "probe", J_STRING, offsetof(struct problem, probe), J_REQUIRED },
	{ "code", J_ENUM, offsetof(struct problem, code), J_REQUIRED, .names = problem_code_names },
	{ "detail", J_STRING, offsetof(struct problem, detail), 0 },
	{ "stderr", J_STRING, offsetof(struct problem, err_tail), 0 },
};

const struct jtable problem_table = { problem_fields, ARRAY_SIZE(problem_fields) };

void problem_release(struct problem *p)
{
	free(p->probe);
	free(p->detail);
	free(p->err_tail);
	*p = (struct problem){ 0 };
}

int problem_decode(const struct jval *v, struct problem *ret, struct err *err)
{
	struct problem p = { 0 };
	int r = jval_decode(v, problem_fields, ARRAY_SIZE(problem_fields), 0, &p, err);

	if (r < 0)
		problem_release(&p);
	else
		*ret = p;
	return r;
}

json_t *problem_encode(const struct problem *p)
{
	json_t *object = jval_encode(problem_fields, ARRAY_SIZE(problem_fields), p);

	/* Readers of problem/1 expect all of its keys. */
	if (!p->detail)
		json_object_set_new(object, "detail", json_string(""));
	if (!p->err_tail)
		json_object_set_new(object, "stderr", json_string(""));
	return object;
}

static const struct jfield report_fields[] = {
	{ "node", J_STRING, offsetof(struct report, node), J_REQUIRED },
	{ "boot_id", J_STRING, offsetof(struct report, boot_id), J_REQUIRED },
	{ "seq", J_U64, offsetof(struct report, seq), J_REQUIRED },
	{ "time", J_STRING, offsetof(struct report, time), J_REQUIRED },
	{ "profile", J_STRING, offsetof(struct report, profile), J_REQUIRED },
	{ "agent", J_STRING, offsetof(struct report, agent), 0 },
	{ "sku", J_STRING, offsetof(struct report, sku), J_NULL },
	{ "topology", J_STRING, offsetof(struct report, topology), J_NULL },
	{ "env", J_JSON, offsetof(struct report, env), 0 },
	{ "uptime_s", J_REAL, offsetof(struct report, uptime_s), 0 },
	{ "lost", J_U64, offsetof(struct report, lost), 0 },
	{ "duration_s", J_REAL, offsetof(struct report, duration_s), 0, .max = RUN_SECONDS_MAX },
	{ "order", J_JSON, offsetof(struct report, order), 0 },
};

const struct jtable report_table = { report_fields, ARRAY_SIZE(report_fields) };

/* From report_read(): strings and lists are freed with the pool. */
static void release_read(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		json_decref(r->samples[i].params);
		json_decref(r->samples[i].parts);
	}
	pool_release(&r->pool);
}

static void release_parts(struct report *r)
{
	size_t i;

	free(r->node);
	free(r->boot_id);
	free(r->time);
	free(r->profile);
	free(r->agent);
	free(r->sku);
	free(r->topology);
	for (i = 0; i < r->n_samples; i++)
		sample_release(&r->samples[i]);
	for (i = 0; i < r->n_problems; i++)
		problem_release(&r->problems[i]);
}

void report_release(struct report *r)
{
	if (r->pool.blocks)
		release_read(r);
	else
		release_parts(r);
	json_decref(r->env);
	json_decref(r->order);
	free(r->samples);
	free(r->problems);
	*r = (struct report){ 0 };
}

/* Doubles the array when `n` reaches a power of two. */
static void *grow(void *items, size_t n, size_t size)
{
	if (n & (n - 1))
		return items;
	return xrealloc(items, n ? 2 * n : 1, size);
}

int report_add_sample(struct report *r, struct sample *s)
{
	if (r->n_samples >= SAMPLE_COUNT_MAX)
		return -E2BIG;
	r->samples = grow(r->samples, r->n_samples, sizeof(*s));
	r->samples[r->n_samples++] = *s;
	*s = sample_init();
	return 0;
}

void report_add_problem(struct report *r, struct problem *p)
{
	r->problems = grow(r->problems, r->n_problems, sizeof(*p));
	r->problems[r->n_problems++] = *p;
	*p = (struct problem){ 0 };
}

static int decode_samples(const struct jval *v, struct report *out, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = v->value ? jval_need_array(v, err) : 0;

	if (r == 0 && n > SAMPLE_COUNT_MAX)
		r = jval_fail(v, err, "%zu samples, more than %d", n, SAMPLE_COUNT_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		struct sample s = sample_init();

		r = sample_decode(&item, &s, err);
		if (r == 0)
			r = report_add_sample(out, &s);
	}
	return r;
}

static int decode_problems(const struct jval *v, struct report *out, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = v->value ? jval_need_array(v, err) : 0;

	if (r == 0 && n > PROBLEMS_MAX)
		r = jval_fail(v, err, "%zu problems, more than %d", n, PROBLEMS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		struct problem p = { 0 };

		r = problem_decode(&item, &p, err);
		if (r == 0)
			report_add_problem(out, &p);
	}
	return r;
}

static int decode_kind(const struct jval *v, struct err *err)
{
	struct jval kind = jval_get(v, "kind");
	struct jval version = jval_get(v, "v");

	if (!streq(json_string_value(kind.value), "report"))
		return jval_fail(&kind, err, "expected \"report\"");
	if (json_integer_value(version.value) != 1)
		return jval_fail(&version, err, "expected 1: this program reads report/1 only");
	return 0;
}

int report_decode(const struct jval *v, struct report *ret, struct err *err)
{
	struct jval samples = jval_get(v, "samples");
	struct jval problems = jval_get(v, "problems");
	struct report out = { 0 };
	int r = jval_need_object(v, err);

	if (r == 0)
		r = decode_kind(v, err);
	if (r == 0)
		r = jval_decode(v, report_fields, ARRAY_SIZE(report_fields), 0, &out, err);
	if (r == 0)
		r = decode_samples(&samples, &out, err);
	if (r == 0)
		r = decode_problems(&problems, &out, err);
	if (r < 0)
		report_release(&out);
	else
		*ret = out;
	return r;
}

json_t *report_encode(const struct report *r)
{
	json_t *object = json_pack("{s:i, s:s}", "v", 1, "kind", "report");
	CLEANUP(json_freep)
	json_t *members = jval_encode(report_fields, ARRAY_SIZE(report_fields), r);
	json_t *samples = json_array();
	json_t *problems = json_array();
	size_t i;

	for (i = 0; i < r->n_samples; i++)
		json_array_append_new(samples, sample_encode(&r->samples[i]));
	for (i = 0; i < r->n_problems; i++)
		json_array_append_new(problems, problem_encode(&r->problems[i]));
	json_object_update(object, members);
	json_object_set_new(object, "samples", samples);
	json_object_set_new(object, "problems", problems);
	return object;
}

bool profile_is_active(const char *profile)
{
	return !streq(profile, "passive") && !streq(profile, PROFILE_WATCH);
}
