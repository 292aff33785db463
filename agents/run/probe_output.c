/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/probe_output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/run/err_tail.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* The JSON reader's name for the line; removed from its messages again. */
#define LINE_NAME "sample"

static const char too_many_samples[] = "more than 4096 samples";
static const char too_long_line[] = "a line of more than 64 KiB";
static const char too_many_bytes[] = "more than 4 MiB";
_Static_assert(SAMPLE_COUNT_MAX == 4096, "the message names this limit");
_Static_assert(SAMPLE_LINE_MAX == 64 * 1024, "the message names this limit");
_Static_assert(PROBE_OUTPUT_MAX == 4 * 1024 * 1024, "the message names this limit");

void probe_output_init(struct probe_output *out)
{
	*out = (struct probe_output){ .line = STRBUF_INIT(SAMPLE_LINE_MAX) };
}

void probe_output_release(struct probe_output *out)
{
	size_t i;

	for (i = 0; i < out->n_samples; i++)
		sample_release(&out->samples[i]);
	free(out->samples);
	strbuf_release(&out->line);
	probe_output_init(out);
}

static int check_version(const struct jval *root, struct err *err)
{
	struct jval v = jval_get(root, "v");

	if (!v.value || json_integer_value(v.value) == 1)
		return 0;
	return jval_fail(&v, err, "expected 1: this program reads sample/1 only");
}

static int decode_line(const char *text, size_t n, struct sample *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *object = NULL;
	struct jval root;
	int r = json_parse(text, n, LINE_NAME, &object, err);

	if (r < 0)
		return r;
	root = jval_root(object, LINE_NAME);
	r = jval_need_object(&root, err);
	if (r == 0)
		r = check_version(&root, err);
	return r < 0 ? r : sample_decode(&root, ret, err);
}

/* The message without its prefix: we know the line number better. */
static const char *bare_reason(const char *msg)
{
	static const char *const prefixes[] = { LINE_NAME ": ", "line 1: " };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (starts_with(msg, prefixes[i]))
			msg += strlen(prefixes[i]);
	return msg;
}

static void add_garbage(struct probe_output *out, const char *why)
{
	CLEANUP(freep) char *clean = NULL;

	if (out->n_garbage++)
		return;
	clean = text_clean(why, strlen(why));
	out->garbage_line = out->n_lines;
	(void)snprintf(out->garbage_why, sizeof(out->garbage_why), "%s", clean);
}

static void add_sample(struct probe_output *out, const struct sample *s)
{
	if ((out->n_samples & (out->n_samples - 1)) == 0) /* grow at powers of two */
		out->samples = xrealloc(out->samples, MAX(2 * out->n_samples, (size_t)1),
					sizeof(*out->samples));
	out->samples[out->n_samples++] = *s;
}

static bool is_blank(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strchr(" \t\r", text[i]) || !text[i])
			return false;
	return true;
}

static int take_line(struct probe_output *out, const char *text, size_t n)
{
	struct sample s = sample_init();
	struct err err = ERR_INIT;

	out->n_lines++;
	if (is_blank(text, n))
		return 0;
	if (out->n_garbage && text[0] != '{') { /* one reason is enough: do not parse millions */
		out->n_garbage++;
		return 0;
	}
	if (decode_line(text, n, &s, &err) < 0) {
		add_garbage(out, bare_reason(err.msg));
		return 0;
	}
	if (out->n_samples >= SAMPLE_COUNT_MAX) {
		sample_release(&s);
		out->too_much = too_many_samples;
		return -E2BIG;
	}
	add_sample(out, &s);
	return 0;
}

/* Take bytes up to a newline (`ends`), or all there are so far. */
static int take_piece(struct probe_output *out, const char *bytes, size_t n, bool ends)
{
	int r = strbuf_add(&out->line, bytes, n);

	if (r < 0) {
		out->n_lines++;
		out->too_much = too_long_line;
		return r;
	}
	if (!ends)
		return 0;
	r = take_line(out, strbuf_text(&out->line), out->line.len);
	strbuf_consume(&out->line, out->line.len);
	return r;
}

int probe_output_feed(struct probe_output *out, const char *bytes, size_t n)
{
	size_t room = PROBE_OUTPUT_MAX - MIN(out->n_bytes, (uint64_t)PROBE_OUTPUT_MAX);
	const char *end = bytes + MIN(n, room);
	int r = 0;

	out->n_bytes += n;
	if (out->too_much)
		return -E2BIG;
	while (r == 0 && bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		const char *stop = newline ? newline : end;

		r = take_piece(out, bytes, (size_t)(stop - bytes), newline != NULL);
		bytes = newline ? newline + 1 : end;
	}
	if (r == 0 && n > room) {
		out->too_much = too_many_bytes;
		r = -E2BIG;
	}
	return r;
}

void probe_output_end(struct probe_output *out)
{
	if (!out->too_much && out->line.len)
		(void)take_line(out, strbuf_text(&out->line), out->line.len);
	strbuf_release(&out->line);
}

int probe_output_verdict(const struct probe_output *out, char **ret_words)
{
	if (out->too_much) {
		*ret_words = xasprintf("printed %s", out->too_much);
		return PROBLEM_TOO_MUCH;
	}
	if (out->n_garbage == 1) {
		*ret_words = xasprintf("line %zu: %s", out->garbage_line, out->garbage_why);
		return PROBLEM_GARBAGE;
	}
	if (out->n_garbage) {
		*ret_words = xasprintf("line %zu: %s (and %zu more lines that are not samples)",
				       out->garbage_line, out->garbage_why, out->n_garbage - 1);
		return PROBLEM_GARBAGE;
	}
	if (out->n_samples == 0) {
		*ret_words = xstrdup("printed no sample");
		return PROBLEM_EMPTY;
	}
	return -1;
}

static void abort_sample(struct sample *s)
{
	s->state = SAMPLE_ABORTED;
	s->value = NAN;
	s->ok = TRI_UNKNOWN;
	s->min = s->max = s->stddev = s->p50 = s->p99 = NAN;
	s->n = 0;
	free(s->w.v);
	s->w = (struct jreals){ 0 };
}

void probe_output_abort(struct probe_output *out)
{
	size_t i;

	for (i = 0; i < out->n_samples; i++)
		abort_sample(&out->samples[i]);
}
