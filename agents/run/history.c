/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/history.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/reference.h"
#include "lib/judge/twins.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "lib/sys/machine.h"
#include "lib/sys/paths.h"

#define HISTORY_LOCK_WAIT_US (5 * USEC_PER_SEC)

/*
 * A line is {"time", "seq", "machine", "values": [[check, subject, params, value], ...]}. In
 * memory: one object; the key is check, subject and params, separated by 0x1f, the value a list.
 */
struct history {
	char *path;
	char *machine; /* or NULL */
	json_t *series;
};

static char *history_path(const char *name)
{
	CLEANUP(freep) char *state = paths_state();

	return xasprintf("%s/%s", state, name);
}

static char *series_key(const char *check, const char *subject, const char *params)
{
	/* Unit separator: it occurs in no name. */
	return xasprintf("%s\x1f%s\x1f%s", check, subject, params ? params : "");
}

static void remember(struct history *h, const json_t *item)
{
	const char *check = json_string_value(json_array_get(item, 0));
	const char *subject = json_string_value(json_array_get(item, 1));
	const char *params = json_string_value(json_array_get(item, 2));
	const json_t *value = json_array_get(item, 3);
	CLEANUP(freep) char *key = NULL;
	json_t *values;

	if (!check || !subject || !params || !json_is_number(value))
		return;
	key = series_key(check, subject, params);
	values = json_object_get(h->series, key);
	if (!values) {
		values = json_array();
		json_object_set_new(h->series, key, values);
	}
	json_array_append_new(values, json_real(json_number_value(value)));
	if (json_array_size(values) > HISTORY_VALUES)
		json_array_remove(values, 0);
}

/* Torn lines (power loss during an append) and foreign ones are ignored. */
static void read_line(struct history *h, const char *line, size_t len)
{
	CLEANUP(json_freep) json_t *value = NULL;
	json_t *item;
	size_t i;

	if (json_parse(line, len, "history.jsonl", &value, NULL) < 0)
		return;
	if (machine_differs(json_string_value(json_object_get(value, "machine")), h->machine))
		return;
	json_array_foreach(json_object_get(value, "values"), i, item)
	{
		remember(h, item);
	}
}

static void read_lines(struct history *h, const char *text, size_t len)
{
	const char *at = text, *end = text + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (!newline)
			return;
		read_line(h, at, (size_t)(newline - at));
		at = newline + 1;
	}
}

int history_open(const char *machine, struct history **ret, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	struct history *h;
	size_t len = 0;
	CLEANUP(freep) char *path = history_path("history.jsonl");
	int r = file_read(AT_FDCWD, path, HISTORY_BYTES_MAX, &text, &len, err);

	if (r < 0 && r != -ENOENT && r != -EFBIG)
		return r;
	h = xcalloc(1, sizeof(*h));
	h->path = TAKE(path);
	h->machine = xstrdup(machine);
	h->series = json_object();
	if (text)
		read_lines(h, text, len);
	*ret = h;
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	free(h->path);
	free(h->machine);
	json_decref(h->series);
	free(h);
}

size_t history_values(void *context, const char *check, const char *subject, const char *params,
		      double *ret_values, size_t max)
{
	struct history *h = context;
	CLEANUP(freep) char *key = series_key(check, subject, params);
	const json_t *values = json_object_get(h->series, key);
	size_t n = json_array_size(values), first, i;

	first = n > max ? n - max : 0;
	for (i = first; i < n; i++)
		ret_values[i - first] = json_number_value(json_array_get(values, i));
	return n - first;
}

static const struct verdict_item *item_of(const struct verdict *v, const struct sample *s)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (streq(v->items[i].check, s->check) && streq(v->items[i].subject, s->subject))
			return &v->items[i];
	}
	return NULL;
}

/* Measured, comparable, and not judged low: may be learned. */
static bool teaches(const struct sample *s, const struct verdict *v)
{
	const struct verdict_item *item = item_of(v, s);
	struct measure m;

	return s->state == SAMPLE_MEASURED && measure_of(s, &m) && m.family->compared && item &&
	       item->level == VERDICT_PASS;
}

static json_t *make_line(const struct report *report, const struct verdict *verdict)
{
	CLEANUP(twins_release) struct twins twins = { 0 };
	json_t *values = json_array();
	size_t i;

	twins_find(report, &twins);
	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];
		CLEANUP(freep) char *params = NULL;

		if (twins_repeat(&twins, i) || !teaches(s, verdict))
			continue;
		params = params_key(s);
		json_array_append_new(values, json_pack("[s, s, s, f]", s->check, s->subject,
							params, twins.value[i]));
	}
	return json_pack("{s:s, s:I, s:s*, s:o}", "time", report->time ? report->time : "", "seq",
			 (json_int_t)report->seq, "machine", verdict->machine, "values", values);
}

/* Keep the newer half, starting at a whole line. */
static int halve(const struct history *h, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	const char *at;
	size_t len;
	int r = file_read(AT_FDCWD, h->path, 2 * (size_t)HISTORY_BYTES_MAX, &text, &len, NULL);

	if (r < 0) /* unreadable or absurdly large: start over rather than grow for ever */
		return file_replace(AT_FDCWD, h->path, "", 0, err);
	at = memchr(text + len / 2, '\n', len - len / 2);
	at = at ? at + 1 : text + len;
	return file_replace(AT_FDCWD, h->path, at, (size_t)(text + len - at), err);
}

/*
 * Size of the file, and whether a power loss left its last line unterminated (terminate it before
 * appending). Needs the lock: others append too.
 */
static size_t measure_file(const char *path, bool *ret_torn)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	char last = '\n';

	*ret_torn = end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
	return end > 0 ? (size_t)end : 0;
}

int history_learn(struct history *h, const struct report *report, const struct verdict *verdict,
		  struct err *err)
{
	CLEANUP(freep) char *lock_path = history_path("history.lock");
	CLEANUP(json_freep) json_t *line = make_line(report, verdict);
	CLEANUP(closep) int lock = -1;
	CLEANUP(freep) char *json = NULL;
	CLEANUP(freep) char *text = NULL;
	bool torn;
	int r;

	if (json_array_size(json_object_get(line, "values")) == 0)
		return 0;
	json = json_line(line);
	r = lock_take(lock_path, clock_mono_us() + HISTORY_LOCK_WAIT_US, &lock, err);
	if (r == 0 && measure_file(h->path, &torn) + strlen(json) + 2 > HISTORY_BYTES_MAX)
		r = halve(h, err);
	if (r < 0)
		return r;
	(void)measure_file(h->path, &torn);
	text = xasprintf("%s%s\n", torn ? "\n" : "", json);
	return file_append(AT_FDCWD, h->path, text, strlen(text), err);
}
