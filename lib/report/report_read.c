/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a report from text. The fast half only says whether it is valid; what it refuses is read
 * again by the thorough half, which says why and where.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/json/jread.h"
#include "lib/report/report.h"
#include "lib/report/report_tables.h"

/* Keys that are not in the table of the report. */
struct rest {
	struct report *report;
	bool kind, version;
};

static int read_version(struct jread *r, bool *ret_good)
{
	struct jnumber number;

	if (jscan_number(&r->scan, &number) < 0 || !number.whole || number.integer != 1)
		return -EINVAL;
	*ret_good = true;
	return 0;
}

static int read_kind(struct jread *r, bool *ret_good)
{
	struct jtext text;

	if (jscan_string(&r->scan, &text) < 0 || !jtext_is(&text, "report"))
		return -EINVAL;
	*ret_good = true;
	return 0;
}

static int other_of_sample(struct jread *r, const struct jtext *key, void *context UNUSED)
{
	bool version;

	return jtext_is(key, "v") ? read_version(r, &version) : jscan_skip(&r->scan, NULL);
}

static int other_of_problem(struct jread *r, const struct jtext *key UNUSED, void *context UNUSED)
{
	return jscan_skip(&r->scan, NULL);
}

/* Added to the report before it is read, so that a half-read sample is released with it. */
static int read_sample(struct jread *r, struct report *report)
{
	struct sample fresh = sample_init(), *s;

	if (report_add_sample(report, &fresh) < 0)
		return -EINVAL;
	s = &report->samples[report->n_samples - 1];
	if (jread_object(r, &sample_table, s, other_of_sample, NULL) < 0)
		return -EINVAL;
	s->params_text = s->params ? jread_canonical(r, s->params) : NULL;
	return sample_check(s, NULL);
}

static int read_problem(struct jread *r, struct report *report)
{
	struct problem p = { 0 };

	if (report->n_problems == PROBLEMS_MAX ||
	    jread_object(r, &problem_table, &p, other_of_problem, NULL) < 0)
		return -EINVAL;
	report_add_problem(report, &p);
	return 0;
}

static int read_list(struct jread *r, struct report *report,
		     int (*read)(struct jread *r, struct report *report))
{
	struct jscan_list list;
	int more = jscan_open(&r->scan, '[', &list);

	while (more == 0 && (more = jscan_item(&r->scan, &list)) == 1)
		more = read(r, report);
	return more;
}

static int other_of_report(struct jread *r, const struct jtext *key, void *context)
{
	struct rest *rest = context;

	if (jtext_is(key, "samples"))
		return read_list(r, rest->report, read_sample);
	if (jtext_is(key, "problems"))
		return read_list(r, rest->report, read_problem);
	if (jtext_is(key, "kind"))
		return read_kind(r, &rest->kind);
	if (jtext_is(key, "v"))
		return read_version(r, &rest->version);
	return jscan_skip(&r->scan, NULL);
}

static int read_all(struct jread *r, struct report *out)
{
	struct rest rest = { .report = out };

	if (jread_object(r, &report_table, out, other_of_report, &rest) < 0 || !rest.kind ||
	    !rest.version)
		return -EINVAL;
	return jscan_end(&r->scan);
}

int report_scan(const char *text, size_t length, struct jmemo *memo, struct report *ret)
{
	struct report out = { 0 };
	CLEANUP(jread_release) struct jread r = jread_of(text, length, &out.pool, memo);
	int result = read_all(&r, &out);

	if (result < 0)
		report_release(&out);
	else
		*ret = out;
	return result;
}

int report_read(const char *text, size_t length, struct jmemo *memo, struct report *ret,
		struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	if (report_scan(text, length, memo, ret) == 0)
		return 0;
	if (json_parse(text, length, "report", &value, err) < 0)
		return -EBADMSG;
	root = jval_root(value, "report");
	return report_decode(&root, ret, err);
}
