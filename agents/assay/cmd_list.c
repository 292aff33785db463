/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay list: the probes of this suite, their checks, and whether they can run here; with
 * --sensitivity, the smallest loss that each detects.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/assay/commands.h"
#include "agents/assay/sensitivity_host.h"
#include "agents/assay/show_run.h"
#include "agents/assay/show_sensitivity.h"
#include "agents/run/describe.h"
#include "agents/run/node_name.h"
#include "agents/run/sku_name.h"
#include "agents/run/suite.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/missing.h"
#include "lib/report/report.h"
#include "lib/sys/paths.h"
#include "lib/sys/state.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"

/* Descriptions are printed immediately; a probe that takes longer is broken. */
#define DESCRIBE_TIMEOUT_US (5 * USEC_PER_SEC)

enum { STATUS_USAGE = 2, STATUS_CANNOT_TELL = 3 };
enum { OPT_SENSITIVITY = 0x100, OPT_POLICY, OPT_SKU, OPT_SKUS };
enum { WORDS_MAX = 32 };

struct list_options {
	enum output output;
	bool sensitivity, skus;
	const char *words[WORDS_MAX]; /* list only what has one of these in its name; none: all */
	size_t n_words;
	const char *policy, *sku; /* files, or NULL */
	struct err err;
};

static const struct argp_option option_table[] = {
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ "sensitivity", OPT_SENSITIVITY, NULL, 0,
	  "Show the smallest loss that each check can see here", 0 },
	{ "policy", OPT_POLICY, "FILE", 0, "Judge by this policy instead of the installed one", 0 },
	{ "sku", OPT_SKU, "FILE", 0, "Judge by this SKU: a file, or a name of --skus", 0 },
	{ "skus", OPT_SKUS, NULL, 0, "Print the names of the shipped SKUs, one per line", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct list_options *o = state->input;

	switch (key) {
	case 'o':
		return -output_option(arg, &o->output, &o->err);
	case OPT_SENSITIVITY:
		o->sensitivity = true;
		return 0;
	case OPT_POLICY:
		o->policy = arg;
		return 0;
	case OPT_SKU:
		o->sku = arg;
		return 0;
	case OPT_SKUS:
		o->skus = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->n_words == WORDS_MAX)
			return -err_set(&o->err, EINVAL, "'%.80s': more than %d names", arg,
					WORDS_MAX);
		o->words[o->n_words++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Why the last run of this probe found nothing to measure, or NULL. Borrowed. */
static const char *not_applicable(json_t *run, const char *probe)
{
	json_t *problems = json_object_get(json_object_get(run, "report"), "problems");
	json_t *problem;
	size_t i;

	json_array_foreach(problems, i, problem)
	{
		const char *name = json_string_value(json_object_get(problem, "probe"));
		const char *code = json_string_value(json_object_get(problem, "code"));

		if (streq(name, probe) && streq(code, problem_code_names[PROBLEM_NOT_APPLICABLE]))
			return json_string_value(json_object_get(problem, "detail"));
	}
	return NULL;
}

static bool has_measured(json_t *run, const char *probe)
{
	json_t *samples = json_object_get(json_object_get(run, "report"), "samples");
	json_t *sample;
	size_t i;

	json_array_foreach(samples, i, sample)
	{
		const char *check = json_string_value(json_object_get(sample, "check"));

		if (check && probe_has_check(probe, check))
			return true;
	}
	return false;
}

/* A probe in the last runs of the usual profiles. */
struct seen {
	bool measured;
	char *not_applicable; /* the reason, or NULL */
};

static struct seen seen_of(const char *probe)
{
	static const char *const names[] = { "last/quick.json", "last/full.json",
					     "last/passive.json", "last/probes.json" };
	struct seen seen = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && !seen.not_applicable; i++) {
		CLEANUP(json_freep) json_t *run = NULL;
		const char *why;

		if (state_load(names[i], &run, NULL) < 0)
			continue;
		why = not_applicable(run, probe);
		if (why)
			seen.not_applicable = xstrdup(why);
		seen.measured = seen.measured || has_measured(run, probe);
	}
	return seen;
}

static json_t *encode_checks(const struct describe *d)
{
	json_t *checks = json_array();
	size_t i;

	for (i = 0; i < d->n_checks; i++) {
		const struct describe_check *c = &d->checks[i];

		json_array_append_new(checks, json_pack("{s:s, s:s?, s:s?, s:s?}", "check",
							c->check, "unit", c->unit, "better",
							c->better, "finds", c->finds));
	}
	return checks;
}

/* One probe as {probe, here, measured, reason?, ...its description}. */
static json_t *ask(const char *name)
{
	CLEANUP(freep) char *path = suite_path(name);
	CLEANUP(freep) char *why = NULL;
	struct seen seen;
	CLEANUP(describe_release) struct describe d = { 0 };
	struct err err = ERR_INIT;

	if (!suite_can_start(path))
		return json_pack("{s:s, s:b, s:s}", "probe", name, "here", 0, "reason",
				 "not built here");
	if (describe_ask(path, DESCRIBE_TIMEOUT_US, &d, &err) < 0)
		return json_pack("{s:s, s:b, s:s}", "probe", name, "here", 0, "reason", err.msg);
	seen = seen_of(name);
	why = seen.not_applicable;
	return json_pack("{s:s, s:b, s:b, s:s*, s:b, s:s?, s:s?, s:o}", "probe", name, "here",
			 why == NULL, "measured", seen.measured, "reason", why, "active", d.active,
			 "budget", d.budget, "summary", d.summary, "checks", encode_checks(&d));
}

enum { COL_PROBE, COL_KIND, COL_HERE, COL_CHECK, COL_UNIT, COL_FINDS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_PROBE] = { "PROBE" },
	[COL_KIND] = { "KIND", .leave = 2 },
	[COL_HERE] = { "HERE" },
	[COL_CHECK] = { "CHECK", .min = 22 },
	[COL_UNIT] = { "UNIT", .leave = 1 },
	[COL_FINDS] = { "FINDS", .min = 24, .wrap = true },
};

static char *copy_of(const json_t *object, const char *key)
{
	return xstrdup(json_string_value(json_object_get(object, key)));
}

static void add_first_cells(struct table_row *row, const json_t *probe)
{
	const json_t *active = json_object_get(probe, "active");
	bool here = json_is_true(json_object_get(probe, "here"));
	bool measured = json_is_true(json_object_get(probe, "measured"));

	row->cells[COL_PROBE] = copy_of(probe, "probe");
	row->cells[COL_KIND] = xstrdup(!active ? "-" : json_is_true(active) ? "active" : "passive");
	row->cells[COL_HERE] = xstrdup(!here ? "no" : measured ? "yes" : "?");
	row->paint = here ? PAINT_BOLD : PAINT_DIM;
}

static void add_rows(struct table *t, const json_t *probe)
{
	const json_t *checks = json_object_get(probe, "checks");
	struct table_row *row = table_add(t);
	size_t n = json_array_size(checks), i;

	add_first_cells(row, probe);
	if (n == 0 || json_object_get(probe, "reason"))
		row->cells[COL_FINDS] = copy_of(probe, "reason");
	for (i = 0; i < n; i++) {
		const json_t *check = json_array_get(checks, i);

		if (i || row->cells[COL_FINDS])
			row = table_add(t);
		row->cells[COL_CHECK] = copy_of(check, "check");
		row->cells[COL_UNIT] = copy_of(check, "unit");
		row->cells[COL_FINDS] = copy_of(check, "finds");
	}
}

static bool any_unknown(const json_t *probes)
{
	const json_t *probe;
	size_t i;

	json_array_foreach(probes, i, probe)
	{
		if (json_is_true(json_object_get(probe, "here")) &&
		    !json_is_true(json_object_get(probe, "measured")))
			return true;
	}
	return false;
}

static const char unknown[] =
	"HERE is ? for a check that no run has tried yet. assay run --profile full tries all but "
	"all-reduce, which needs other hosts";

static void show(const json_t *probes)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	const json_t *probe;
	size_t i;

	json_array_foreach(probes, i, probe) add_rows(&t, probe);
	table_print(&t, stdout, term_wants_colour(stdout), show_width(stdout));
	if (!any_unknown(probes))
		return;
	(void)fputc('\n', stdout);
	text_wrap(unknown, stdout, 0, show_width(stdout));
}

/* A word selects the probe of that name, and every check with it in its name. */
static bool is_asked(const struct list_options *o, const char *check)
{
	size_t i;

	for (i = 0; i < o->n_words; i++) {
		if (strstr(check, o->words[i]) ||
		    (suite_has(o->words[i]) && probe_has_check(o->words[i], check)))
			return true;
	}
	return o->n_words == 0;
}

static void keep_asked_checks(const struct list_options *o, json_t *checks)
{
	size_t i;

	for (i = json_array_size(checks); i-- > 0;) {
		const json_t *check = json_object_get(json_array_get(checks, i), "check");

		if (!is_asked(o, json_string_value(check)))
			json_array_remove(checks, i);
	}
}

static void keep_asked_probes(const struct list_options *o, json_t *probes)
{
	size_t i, k;

	for (i = json_array_size(probes); i-- > 0;) {
		json_t *probe = json_array_get(probes, i);
		json_t *checks = json_object_get(probe, "checks");
		const char *name = json_string_value(json_object_get(probe, "probe"));
		bool named = false;

		for (k = 0; k < o->n_words; k++)
			named = named || streq(name, o->words[k]);
		if (!named)
			keep_asked_checks(o, checks);
		if (!named && json_array_size(checks) == 0)
			json_array_remove(probes, i);
	}
}

/* Keep only what was asked for; -EINVAL if there is nothing. */
static int keep_asked(const struct list_options *o, json_t *value, struct err *err)
{
	json_t *probes = json_object_get(value, "probes");
	json_t *checks = json_object_get(value, "checks");

	if (o->n_words == 0)
		return 0;
	if (probes)
		keep_asked_probes(o, probes);
	if (checks)
		keep_asked_checks(o, checks);
	if (json_array_size(probes) || json_array_size(checks))
		return 0;
	return err_set(err, EINVAL, "'%.80s': no probe or check has this in its name", o->words[0]);
}

static json_t *ask_all(void)
{
	json_t *probes = json_array();
	size_t i;

	for (i = 0; suite_probes[i]; i++)
		json_array_append_new(probes, ask(suite_probes[i]));
	return probes;
}

static void show_names(const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)(void) puts(json_string_value(name));
}

static void print(const json_t *value, const struct list_options *o)
{
	if (o->output != OUTPUT_TABLE)
		command_print(value, o->output);
	else if (o->skus)
		show_names(json_object_get(value, "skus"));
	else if (o->sensitivity)
		show_sensitivity(value, stdout, term_wants_colour(stdout), show_width(stdout));
	else
		show(json_object_get(value, "probes"));
}

static int make_value(const struct list_options *o, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *probes = NULL;

	if (o->skus) {
		*ret = json_pack("{s:i, s:s, s:o}", "v", 1, "kind", "skus", "skus", sku_name_list());
		return 0;
	}
	probes = ask_all();
	(void)node_name_adopt(NULL); /* results are listed even with a bad configuration */
	if (o->sensitivity)
		return sensitivity_host(probes, o->policy, o->sku, ret, err);
	*ret = json_pack("{s:i, s:s, s:O}", "v", 1, "kind", "list", "probes", probes);
	return 0;
}

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.args_doc = "[PROBE|CHECK]...",
		.doc = "Lists the probes, what each checks, and whether it can run here; with "
		       "NAMEs, only those: probes, or parts of check names.",
	};
	struct list_options o = { .output = OUTPUT_TABLE, .err = ERR_INIT };
	CLEANUP(json_freep) json_t *value = NULL;
	int r = -usage_parse(&argp, argc, argv, 0, NULL, &o);

	if (r == 0)
		r = make_value(&o, &value, &o.err);
	if (r == 0)
		r = keep_asked(&o, value, &o.err);
	if (r < 0) {
		command_complain("assay list", &o.err);
		return r == -ENODATA ? STATUS_CANNOT_TELL : STATUS_USAGE;
	}
	print(value, &o);
	return command_written();
}
