/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_eval.h"

#include <errno.h>

#include "attribution/input.h"
#include "attribution/plan_hotspa.h"
#include "attribution/plan_oobleck.h"
#include "attribution/plan_pipeline.h"
#include "attribution/plan_rearrange.h"
#include "attribution/plan_schedule.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

enum { READ_SIZE = 1 << 16 };

static const struct operation {
	const char *name;
	int (*answer)(struct plan_args *args, json_t *answer, struct err *err);
} operations[] = {
	{ "assign_layers", plan_pipeline_layers },   { "best_split", plan_pipeline_split },
	{ "distribute", plan_pipeline_distribute },  { "hotspa_group", plan_hotspa_group },
	{ "hotspa_order", plan_hotspa_order },	     { "hotspa_switch", plan_hotspa_switch },
	{ "instantiate", plan_oobleck_instantiate }, { "oobleck_sizes", plan_oobleck_sizes },
	{ "pipe_1f1b", plan_pipeline_1f1b },	     { "rearrange", plan_rearrange },
	{ "reconfigure", plan_oobleck_reconfigure }, { "schedule", plan_schedule },
	{ "shrink", plan_rearrange_shrink },	     { "standby", plan_schedule_standby },
	{ "template_time", plan_pipeline_template },
};

struct eval {
	const char *name; /* of the file */
	FILE *out;
	size_t line; /* from 1 */
	size_t bad;
	struct err *first; /* error of the first bad line */
};

static const struct operation *find_operation(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		if (streq(operations[i].name, name))
			return &operations[i];
	return NULL;
}

static int refuse_operation(const struct jval *op, struct err *err)
{
	char names[ERR_MSG_SIZE] = "";
	size_t at = 0, i;

	for (i = 0; i < ARRAY_SIZE(operations) && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
				       operations[i].name);
	if (!json_is_string(op->value))
		return jval_fail(op, err, "expected one of %s, not %s", names, jval_type_name(op));
	return jval_fail(op, err, "'%s' is not one of %s", json_string_value(op->value), names);
}

/* Answer one object. -EINVAL with a message that begins with file and line. */
static int answer_object(json_t *object, const char *place, json_t *answer, struct err *err)
{
	struct plan_args args = { .object = object, .line = jval_root(object, place) };
	struct jval op = jval_get(&args.line, "op");
	const struct operation *operation;
	struct err why = ERR_INIT;
	json_t *ignored;
	int r = jval_need_object(&args.line, err);

	if (r < 0)
		return r;
	if (json_object_get(object, "id"))
		(void)json_object_set(answer, "id", json_object_get(object, "id"));
	operation = find_operation(json_string_value(op.value));
	if (!operation)
		return refuse_operation(&op, err);
	r = operation->answer(&args, answer, &why);
	if (r == -ERANGE) {
		(void)json_object_set_new(answer, "feasible", json_false());
		(void)json_object_set_new(answer, "why", json_string(why.msg));
	} else if (r < 0) {
		return starts_with(why.msg, place)
			       ? err_set(err, -r, "%s", why.msg)
			       : err_set(err, -r, "%s: %s: %s", place, operation->name, why.msg);
	}
	ignored = plan_args_ignored(&args);
	if (ignored)
		(void)json_object_set_new(answer, "ignored", ignored);
	return 0;
}

/* Answer one line, even if it is invalid. */
static void answer_line(struct eval *eval, const char *text, size_t n)
{
	CLEANUP(json_freep) json_t *object = NULL;
	CLEANUP(json_freep) json_t *answer = json_object();
	CLEANUP(freep) char *place = xasprintf("%s:%zu", eval->name, eval->line);
	struct err err = ERR_INIT;
	int r;

	if (n > PLAN_EVAL_LINE_MAX)
		r = err_set(&err, E2BIG, "%s: longer than %d bytes", place, PLAN_EVAL_LINE_MAX);
	else
		r = json_parse(text, n, place, &object, &err);
	if (r == 0)
		r = answer_object(object, place, answer, &err);
	if (r < 0) {
		(void)json_object_set_new(answer, "error", json_string(err.msg));
		if (eval->bad++ == 0)
			*eval->first = err;
	}
	(void)json_dumpf(answer, eval->out, JSON_COMPACT | JSON_REAL_PRECISION(PLAN_EVAL_DIGITS));
	(void)fputc('\n', eval->out);
}

static bool is_blank(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strchr(" \t\r", text[i]))
			return false;
	return true;
}

static void end_line(struct eval *eval, struct strbuf *line, bool too_long)
{
	const char *text = strbuf_text(line);

	eval->line++;
	if (too_long)
		answer_line(eval, "", (size_t)PLAN_EVAL_LINE_MAX + 1);
	else if (!is_blank(text, line->len))
		answer_line(eval, text, line->len);
	strbuf_consume(line, line->len);
}

/* Answer the complete lines, and keep the rest in `line`. */
static void take(struct eval *eval, struct strbuf *line, const char *bytes, size_t n, bool *too_long)
{
	while (n > 0) {
		const char *end = memchr(bytes, '\n', n);
		size_t part = end ? (size_t)(end - bytes) : n;

		if (line->len + part > PLAN_EVAL_LINE_MAX)
			*too_long = true;
		if (!*too_long)
			(void)strbuf_add(line, bytes, part);
		if (!end)
			return;
		end_line(eval, line, *too_long);
		*too_long = false;
		bytes += part + 1;
		n -= part + 1;
	}
}

static int read_all(struct eval *eval, struct input *input, struct err *err)
{
	struct strbuf line = STRBUF_INIT(PLAN_EVAL_LINE_MAX);
	CLEANUP(freep) char *bytes = xcalloc(READ_SIZE, 1);
	bool too_long = false;
	size_t n = 0;
	int r;

	do {
		r = input_read(input, bytes, READ_SIZE, &n, err);
		if (r == 0)
			take(eval, &line, bytes, n, &too_long);
	} while (r == 0 && n > 0);
	if (r == 0 && (line.len > 0 || too_long))
		end_line(eval, &line, too_long);
	strbuf_release(&line);
	return r < 0 ? err_wrap(err, r, "%s", eval->name) : 0;
}

int plan_eval(const char *path, FILE *out, struct err *err)
{
	CLEANUP(input_freep) struct input *input = NULL;
	struct err first = ERR_INIT;
	struct eval eval = { .out = out, .first = &first };
	int r = input_open(path, &input, err);

	if (r < 0)
		return r;
	eval.name = input_name(input);
	r = read_all(&eval, input, err);
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, EIO, "standard output cannot be written");
	if (r < 0 || eval.bad == 0)
		return r;
	if (eval.bad == 1)
		return err_set(err, EINVAL, "%s", first.msg);
	return err_set(err, EINVAL, "%s (and %zu more lines)", first.msg, eval.bad - 1);
}
