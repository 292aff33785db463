/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/sample_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/host_parts.h"
#include "lib/report/report.h"
#include "lib/sys/file.h"

static int read_stdin(struct strbuf *ret, struct err *err)
{
	char buffer[64 * 1024];
	ssize_t n;

	for (;;) {
		n = read(STDIN_FILENO, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, errno, "standard input");
		if (n == 0)
			return 0;
		if (strbuf_add(ret, buffer, (size_t)n) < 0)
			return err_set(err, EFBIG, "standard input: more than %d bytes",
				       SAMPLE_FILE_MAX);
	}
}

static int add(struct sample_file *f, const struct jval *v, struct err *err)
{
	struct sample s = sample_init();
	int r = sample_decode(v, &s, err);

	if (r < 0)
		return r;
	if (f->n >= SAMPLE_FILE_COUNT_MAX) {
		sample_release(&s);
		return err_set(err, E2BIG, "%s: more than %d samples", v->file,
			       SAMPLE_FILE_COUNT_MAX);
	}
	if ((f->n & (f->n - 1)) == 0)
		f->v = xrealloc(f->v, f->n ? 2 * f->n : 1, sizeof(*f->v));
	f->v[f->n++] = s;
	return 0;
}

/* All samples of a report, or of a run that contains one. */
static int add_list(struct sample_file *f, const struct jval *samples, struct err *err)
{
	int r = jval_need_array(samples, err);
	size_t i, n = json_array_size(samples->value);

	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(samples, i);

		r = add(f, &item, err);
	}
	return r;
}

static int add_object(struct sample_file *f, const struct jval *v, struct err *err)
{
	struct jval report = jval_get(v, "report");
	struct jval samples = jval_get(report.value ? &report : v, "samples");
	int r = jval_need_object(v, err);

	if (r < 0)
		return r;
	return samples.value ? add_list(f, &samples, err) : add(f, v, err);
}

/* A list of samples, reports or runs. */
static int add_objects(struct sample_file *f, const struct jval *list, struct err *err)
{
	size_t i, n = json_array_size(list->value);
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(list, i);

		r = add_object(f, &item, err);
	}
	return r;
}

static bool is_blank(const char *text, size_t length)
{
	return strspn(text, " \t\r") >= length;
}

/* The JSON parser would count lines within the line it gets: use our number. */
static int parse_line(const char *name, size_t number, const char *text, size_t length,
		      json_t **ret, struct err *err)
{
	static const char one[] = "line: line 1: ";
	struct err why = ERR_INIT;
	const char *bare;
	int r;

	if (memchr(text, '\0', length))
		return err_set(err, EINVAL, "%s: line %zu: a NUL byte: this is not text", name,
			       number);
	r = json_parse(text, length, "line", ret, &why);
	bare = starts_with(why.msg, one) ? why.msg + strlen(one) : why.msg;
	return r < 0 ? err_set(err, -r, "%s: line %zu: %s", name, number, bare) : 0;
}

/* Read to the end of the text, not to the first zero byte, so that nothing after it is lost. */
static int read_lines(struct sample_file *f, const char *name, const char *text, size_t size,
		      struct err *err)
{
	const char *const end = text + size;
	size_t number;
	int r = 0;

	for (number = 1; r == 0 && text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		CLEANUP(freep) char *place = xasprintf("%s: line %zu", name, number);
		CLEANUP(json_freep) json_t *value = NULL;

		if (!is_blank(text, length)) {
			r = parse_line(name, number, text, length, &value, err);
			if (r == 0) {
				struct jval root = jval_root(value, place);

				r = add_object(f, &root, err);
			}
		}
		text += length + 1;
	}
	return r;
}

/*
 * Length of a byte order mark at the beginning: 3 for UTF-8, which some editors write and which
 * may be ignored (RFC 8259, 8.1). That of UTF-16 is an error.
 */
static int skip_mark(const char *name, const char *text, size_t length, size_t *ret_mark,
		     struct err *err)
{
	*ret_mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
		return err_set(err, EINVAL, "%s: line 1: this is UTF-16: save it as UTF-8", name);
	return 0;
}

/* One object or one list over several lines, as people write JSON; else JSON lines. */
static int read_text(struct sample_file *f, const char *name, const char *text, size_t length,
		     struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	size_t mark;
	int r = skip_mark(name, text, length, &mark, err);

	if (r < 0)
		return r;
	text += mark;
	length -= mark;
	/* A truncated list is not a JSON line: report where it breaks. */
	r = json_parse(text, length, name, &value, err);
	if (r < 0 && text[strspn(text, " \t\r\n")] == '[')
		return r;
	if (r < 0)
		return read_lines(f, name, text, length, err);
	root = jval_root(value, name);
	if (json_is_array(value))
		return add_objects(f, &root, err);
	f->object = json_is_array(json_object_get(value, "samples")) ||
				    json_is_object(json_object_get(value, "report"))
			    ? json_incref(value)
			    : NULL;
	return add_object(f, &root, err);
}

int sample_file_read(const char *path, struct sample_file *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf input = STRBUF_INIT(SAMPLE_FILE_MAX);
	CLEANUP(sample_file_release) struct sample_file f = { .n = 0 };
	CLEANUP(freep) char *text = NULL;
	bool is_stdin = streq(path, "-");
	size_t length = 0;
	int r = is_stdin ? read_stdin(&input, err)
			 : file_read(AT_FDCWD, path, SAMPLE_FILE_MAX, &text, &length, err);

	if (r == 0 && is_stdin)
		r = read_text(&f, "standard input", strbuf_text(&input), input.len, err);
	else if (r == 0)
		r = read_text(&f, path, text, length, err);
	if (r < 0)
		return r;
	*ret = f;
	f = (struct sample_file){ .n = 0 };
	return 0;
}

void sample_file_parts(const struct sample_file *f, struct host_parts *ret)
{
	const struct report samples = { .samples = f->v, .n_samples = f->n };

	host_parts_decode(json_object_get(f->object, "parts"), ret);
	(void)host_parts_learn(ret, &samples);
}

void sample_file_release(struct sample_file *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		sample_release(&f->v[i]);
	free(f->v);
	json_decref(f->object);
	*f = (struct sample_file){ .n = 0 };
}
