/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/both_readers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/jmemo.h"
#include "lib/report/report.h"
#include "lib/report/report_tables.h"
#include "tests/unit/test.h"

enum { SHOWN_MAX = 2000 }; /* bytes of the text in a failure message */

/* Reads it with json_parse() and report_decode(). */
static int read_carefully(const char *text, size_t length, struct report *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	if (json_parse(text, length, "report", &value, err) < 0)
		return -EBADMSG;
	root = jval_root(value, "report");
	return report_decode(&root, ret, err);
}

/* --- comparing two structs --- */

static bool same_strv(char *const *a, char *const *b)
{
	size_t n = strv_len(a), i;

	if (!a != !b || n != strv_len(b))
		return false;
	for (i = 0; i < n; i++) {
		if (!streq(a[i], b[i]))
			return false;
	}
	return true;
}

static bool same_reals(const struct jreals *a, const struct jreals *b)
{
	return a->n == b->n && !a->v == !b->v &&
	       (a->n == 0 || memcmp(a->v, b->v, a->n * sizeof(double)) == 0);
}

static bool same_json(json_t *a, json_t *b)
{
	return a == b || json_equal(a, b);
}

static bool same_field(const struct jfield *f, const void *a, const void *b)
{
	switch (f->type) {
	case J_STRING:
		return streq(*(char *const *)a, *(char *const *)b);
	case J_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case J_TRISTATE:
	case J_ENUM:
		return *(const int *)a == *(const int *)b;
	case J_U64:
	case J_DURATION:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	case J_REAL: /* to the bit, NAN too */
		return memcmp(a, b, sizeof(double)) == 0;
	case J_JSON:
	case J_OBJECT:
		return same_json(*(json_t *const *)a, *(json_t *const *)b);
	case J_REALS:
		return same_reals(a, b);
	case J_STRV:
		return same_strv(*(char *const *const *)a, *(char *const *const *)b);
	case J_CUSTOM:
		break;
	}
	return false;
}

static bool same_struct(const struct jtable *table, const void *a, const void *b)
{
	size_t i;

	for (i = 0; i < table->n; i++) {
		size_t at = table->fields[i].offset;

		if (!same_field(&table->fields[i], (const char *)a + at, (const char *)b + at))
			return false;
	}
	return true;
}

static bool same_reports(const struct report *a, const struct report *b)
{
	size_t i;

	if (!same_struct(&report_table, a, b) || a->n_samples != b->n_samples ||
	    a->n_problems != b->n_problems)
		return false;
	for (i = 0; i < a->n_samples; i++) {
		if (!same_struct(&sample_table, &a->samples[i], &b->samples[i]))
			return false;
	}
	for (i = 0; i < a->n_problems; i++) {
		if (!same_struct(&problem_table, &a->problems[i], &b->problems[i]))
			return false;
	}
	return true;
}

bool both_read(const char *text, size_t length)
{
	/* Kept across calls, to find state that leaks from one text to the next. */
	static struct jmemo memo;
	CLEANUP(report_release) struct report quick = { 0 };
	CLEANUP(report_release) struct report careful = { 0 };
	/* Memory of exactly this size, so the sanitizers find a read past the end. */
	CLEANUP(freep) char *exact = memcpy(xcalloc(length, 1), text, length);
	struct err err = ERR_INIT;
	int r = read_carefully(exact, length, &careful, &err);
	bool taken = report_scan(exact, length, &memo, &quick) == 0;

	CHECK_EQ(taken, r == 0);
	if (taken != (r == 0))
		(void)printf("the careful one says '%s' of: %.*s\n", err.msg,
			     (int)MIN(length, (size_t)SHOWN_MAX), text);
	if (!taken)
		return false;
	CHECK(same_reports(&quick, &careful));
	if (!same_reports(&quick, &careful))
		(void)printf("read differently: %.*s\n", (int)MIN(length, (size_t)SHOWN_MAX), text);
	return true;
}

void both_read_as(const char *text, bool taken)
{
	bool r = both_read(text, strlen(text));

	CHECK_EQ(r, taken);
	if (r != taken)
		(void)printf("wrongly %s: %.2000s\n", r ? "taken" : "refused", text);
}

char *repeated_byte(char which, size_t n)
{
	char *text = xcalloc(n + 1, 1);

	(void)memset(text, which, n);
	return text;
}
