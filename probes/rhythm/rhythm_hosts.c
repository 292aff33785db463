/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rhythm/rhythm_hosts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/rhythm.h"
#include "lib/sys/table.h"

static const struct {
	unsigned bit; /* enum rhythm_differs */
	const char *words;
} differences[] = {
	{ RHYTHM_STOPPED_FIRST, "stopped before the others" },
	{ RHYTHM_STOPPED_ALONE, "has stopped, but the others have not" },
	{ RHYTHM_MOVES_ALONE, "continues, but the others have stopped" },
	{ RHYTHM_OTHER_PERIOD, "takes different steps from the others" },
	{ RHYTHM_SENDS_LESS, "sends less per step than the others" },
	{ RHYTHM_SENDS_MORE, "sends more per step than the others" },
};

/* NAN if it is not a number. */
static double number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The host of "logs/gpu-3.json" is gpu-3. The caller frees it. */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return xstrndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* Combine the RNICs of a host: their total rate, and the clearest period of any. */
static bool sum_up(const json_t *document, struct rhythm *ret)
{
	const json_t *row;
	double strongest = 0;
	size_t i, n = 0;

	*ret = (struct rhythm){ .period_s = NAN,
				.still_s = INFINITY,
				.stopped = true,
				.changed_s = NAN,
				.change = NAN };
	json_array_foreach(json_object_get(document, "counters"), i, row)
	{
		const char *kind = json_string_value(json_object_get(row, "kind"));

		if (!kind || !streq(kind, "rnic") || isnan(number(row, "rate")) ||
		    isnan(number(row, "still_s")))
			continue;
		n++;
		ret->rate += number(row, "rate");
		ret->still_s = fmin(ret->still_s, number(row, "still_s"));
		ret->stopped = ret->stopped && json_is_true(json_object_get(row, "stopped"));
		if (number(row, "strength") > strongest) {
			strongest = number(row, "strength");
			ret->period_s = number(row, "period_s");
		}
	}
	return n > 0;
}

static int read_one(const char *path, struct rhythm *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *document = NULL;
	const char *format;
	int r = json_read_file(path, RHYTHM_FILE_MAX, &document, err);

	if (r < 0)
		return r;
	format = json_string_value(json_object_get(document, "format"));
	if (!format || !streq(format, "assay-rhythm/1"))
		return err_set(err, EINVAL, "%s: expected the output of assay rhythm -o json", path);
	if (!sum_up(document, ret))
		return err_set(err, EINVAL, "%s: contains no RNIC counter", path);
	return 0;
}

static json_t *host_json(const char *path, const struct rhythm *rhythm, unsigned differs)
{
	CLEANUP(freep) char *name = name_of(path);
	json_t *words = json_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(differences); i++) {
		if (differs & differences[i].bit)
			(void)json_array_append_new(words, json_string(differences[i].words));
	}
	return json_pack(
		"{s:s, s:f, s:o, s:f, s:b, s:o}", "host", name, "rate", rhythm->rate, "period_s",
		isnan(rhythm->period_s) ? json_null() : json_real(rhythm->period_s), "still_s",
		rhythm->still_s, "stopped", (int)rhythm->stopped, "differs", words);
}

/* The headline about all hosts. The caller frees it. */
static char *sentence_of(const json_t *hosts)
{
	const size_t n = json_array_size(hosts);
	const json_t *host, *first = NULL;
	size_t i, differ = 0;

	json_array_foreach(hosts, i, host)
	{
		if (json_array_size(json_object_get(host, "differs")) == 0)
			continue;
		differ++;
		first = first ? first : host;
	}
	if (n < RHYTHM_HOSTS_LEAST)
		return xasprintf("%zu hosts: fewer than %d cannot show which one differs", n,
				 RHYTHM_HOSTS_LEAST);
	if (!first)
		return xasprintf("%zu hosts are alike", n);
	return xasprintf("%s %s%s", json_string_value(json_object_get(first, "host")),
			 json_string_value(json_array_get(json_object_get(first, "differs"), 0)),
			 differ > 1 ? ", and others differ too" : "");
}

int rhythm_hosts_read(char *const *paths, size_t n, json_t **ret, struct err *err)
{
	CLEANUP(freep) struct rhythm *hosts = xcalloc(n, sizeof(*hosts));
	CLEANUP(freep) unsigned *differs = xcalloc(n, sizeof(*differs));
	CLEANUP(freep) char *sentence = NULL;
	json_t *rows;
	size_t i;

	for (i = 0; i < n; i++) {
		int r = read_one(paths[i], &hosts[i], err);

		if (r < 0)
			return r;
	}
	rhythm_peers(hosts, n, differs);
	rows = json_array();
	for (i = 0; i < n; i++)
		(void)json_array_append_new(rows, host_json(paths[i], &hosts[i], differs[i]));
	sentence = sentence_of(rows);
	*ret = json_pack("{s:s, s:o, s:s}", "format", "assay-rhythm-hosts/1", "hosts", rows,
			 "sentence", sentence);
	return 0;
}

/* --- output for people --- */

static const struct table_column columns[] = {
	{ "HOST", .min = 8 },
	{ "PERIOD", .right = true },
	{ "RATE", .right = true },
	{ "STILL FOR", .right = true },
	{ "DIFFERS", .min = 10, .wrap = true },
};

static void add_row(struct table *t, const json_t *host)
{
	const json_t *differs = json_object_get(host, "differs");
	const json_t *period = json_object_get(host, "period_s");
	struct table_row *row = table_add(t);

	row->cells[0] = xstrdup(json_string_value(json_object_get(host, "host")));
	row->cells[1] = json_is_null(period) ? xstrdup("-")
					     : xasprintf("%.3g s", json_number_value(period));
	row->cells[2] = xasprintf("%.3g GB/s", number(host, "rate") / 1e9);
	row->cells[3] = xasprintf("%.3g s%s", number(host, "still_s"),
				  json_is_true(json_object_get(host, "stopped")) ? ", stopped" : "");
	row->cells[4] = json_array_size(differs)
				? xstrdup(json_string_value(json_array_get(differs, 0)))
				: NULL;
	row->paint = json_array_size(differs) ? PAINT_WARN : TABLE_NONE;
}

void rhythm_hosts_table(const json_t *document, FILE *out, bool colour, unsigned width)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	const json_t *hosts = json_object_get(document, "hosts"), *host;
	size_t i;
	int alike;

	text_wrap(json_string_value(json_object_get(document, "sentence")), out, 0, width);
	for (alike = 0; alike < 2; alike++) {
		json_array_foreach(hosts, i, host)
		{
			if ((json_array_size(json_object_get(host, "differs")) == 0) == (alike == 1))
				add_row(&t, host);
		}
	}
	(void)table_print(&t, out, colour, width);
}
