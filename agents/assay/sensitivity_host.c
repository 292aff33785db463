/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/sensitivity_host.h"

#include <errno.h>
#include <stdlib.h>

#include "agents/run/parts_file.h"
#include "agents/run/references.h"
#include "agents/run/verdict_file.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/missing.h"
#include "lib/judge/sensitivity.h"
#include "lib/judge/sensitivity_rows.h"
#include "lib/report/host_parts.h"
#include "lib/report/report.h"
#include "lib/sys/host.h"

static const char nothing_yet[] =
	"nothing has been measured on this host yet: run `assay run --profile full` first";

/* State while turning the last runs of this host into rows. */
struct gathering {
	const char *policy, *sku; /* files, or NULL */
	char *node;
	json_t *checks; /* rows, sorted by check and class */
	json_t *runs;
	int r; /* first error, with a message */
	struct err err;
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int compare_rows(const json_t *a, const json_t *b)
{
	int order = strcmp(text_of(a, "check"), text_of(b, "check"));

	return order ? order : strcmp(text_of(a, "class"), text_of(b, "class"));
}

/* Prefer a measured one, then the newer. */
static bool is_better(const json_t *row, const json_t *than)
{
	bool has = json_integer_value(json_object_get(row, "measured")) > 0;
	bool had = json_integer_value(json_object_get(than, "measured")) > 0;

	if (has != had)
		return has;
	return strcmp(text_of(row, "time"), text_of(than, "time")) > 0;
}

static void put_row(json_t *checks, json_t *row)
{
	size_t n = json_array_size(checks), at;
	int order = 1;

	for (at = 0; at < n; at++) {
		order = compare_rows(json_array_get(checks, at), row);
		if (order >= 0)
			break;
	}
	if (order != 0)
		json_array_insert_new(checks, at, row);
	else if (is_better(row, json_array_get(checks, at)))
		json_array_set_new(checks, at, row);
	else
		json_decref(row);
}

/* K bad windows of N before the policy acts. */
static json_t *windows_of(const struct references *refs, const struct sample *s)
{
	const struct policy_subject subject = {
		.check = s->check,
		.locality = s->locality,
		.sku = refs->has_sku ? refs->sku.name : NULL,
	};
	const struct policy_rule *rule = policy_match(&refs->policy, &subject);

	return json_pack("{s:I, s:I}", "k", (json_int_t)(rule ? rule->k : 1), "n",
			 (json_int_t)(rule ? rule->n : 1));
}

static void add_rows(struct gathering *g, const struct report *report,
		     const struct references *refs, const struct judge_inputs *inputs)
{
	CLEANUP(freep)
	struct sensitivity *all = xcalloc(report->n_samples + 1, sizeof(*all));
	CLEANUP(freep) struct sensitivity_row *rows = NULL;
	size_t n, i;

	sensitivity_of(report, inputs, all);
	n = sensitivity_rows(all, report->n_samples, &rows);
	for (i = 0; i < n; i++) {
		json_t *row = sensitivity_encode(&rows[i]);

		json_object_set_new(row, "profile", json_string(report->profile));
		json_object_set_new(row, "time", json_string(report->time));
		json_object_set_new(row, "windows", windows_of(refs, rows[i].sample));
		put_row(g->checks, row);
	}
}

static void add_run(void *context, const char *name, const json_t *run)
{
	struct gathering *g = context;
	CLEANUP(report_release) struct report report = { 0 };
	CLEANUP(references_release) struct references refs = { 0 };
	struct jval root = jval_root(run, name), value = jval_get(&root, "report");
	struct judge_inputs inputs;

	if (g->r < 0 || report_decode(&value, &report, NULL) < 0 || !streq(report.node, g->node))
		return;
	g->r = references_read(g->policy, g->sku, &refs, &g->err);
	if (g->r < 0)
		return;
	references_recall(&refs, report.profile);
	inputs = references_inputs(&refs);
	add_rows(g, &report, &refs, &inputs);
	json_array_append_new(g->runs,
			      json_pack("{s:s, s:s?, s:s?}", "profile", report.profile, "time",
					report.time, "sku", refs.has_sku ? refs.sku.name : NULL));
}

static bool has_check(const json_t *checks, const char *check)
{
	const json_t *row;
	size_t i;

	json_array_foreach(checks, i, row)
	{
		if (streq(text_of(row, "check"), check))
			return true;
	}
	return false;
}

/* Did any run produce samples of this probe? */
static bool has_probe(const json_t *checks, const char *probe)
{
	const json_t *row;
	size_t i;

	json_array_foreach(checks, i, row)
	{
		if (probe_has_check(probe, text_of(row, "check")))
			return true;
	}
	return false;
}

/* What is needed to measure a probe's check here; the caller frees it. */
static char *why_not(const json_t *probe, bool was_here)
{
	const char *reason = json_string_value(json_object_get(probe, "reason"));

	if (reason)
		return xasprintf("something to measure (%s)", reason);
	if (was_here)
		return xstrdup("something to measure (the last run found nothing of the kind)");
	if (streq(text_of(probe, "probe"), "all-reduce"))
		return xstrdup("other hosts: the controller orders such a test, or see "
			       "docs/all-reduce.md");
	return xstrdup("assay run --profile full");
}

static void add_unmeasured(json_t *checks, const json_t *probe)
{
	const json_t *known = json_object_get(probe, "checks"), *check;
	CLEANUP(freep) char *needs = why_not(probe, has_probe(checks, text_of(probe, "probe")));
	size_t i;

	json_array_foreach(known, i, check)
	{
		if (has_check(checks, text_of(check, "check")))
			continue;
		put_row(checks,
			json_pack("{s:s, s:n, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:n, s:n, "
				  "s:[], s:s}",
				  "check", text_of(check, "check"), "class", "unit",
				  text_of(check, "unit"), "better", text_of(check, "better"),
				  "sense", sense_names[SENSE_NOT_MEASURED], "subjects", 0,
				  "measured", 0, "named", 0, "seen", 0, "failing", 0, "warns",
				  "fails", "references", "needs", needs));
	}
}

/* Report a bad file whether there is a run or not. */
static int check_files(const char *policy, const char *sku, struct err *err)
{
	CLEANUP(references_release) struct references refs = { 0 };

	return references_read(policy, sku, &refs, err);
}

int sensitivity_host(const json_t *probes, const char *policy, const char *sku, json_t **ret,
		     struct err *err)
{
	CLEANUP(json_freep) json_t *checks = json_array();
	CLEANUP(json_freep) json_t *runs = json_array();
	CLEANUP(freep) char *node = host_name();
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	struct gathering g = {
		.policy = policy,
		.sku = sku,
		.node = node,
		.checks = checks,
		.runs = runs,
		.err = ERR_INIT,
	};
	const json_t *probe;
	size_t i;
	int r = check_files(policy, sku, err);

	if (r < 0)
		return r;
	(void)verdict_file_visit(add_run, &g, NULL);
	if (g.r < 0)
		return err_set(err, -g.r, "%s", g.err.msg);
	if (json_array_size(runs) == 0)
		return err_set(err, ENODATA, "%s", nothing_yet);
	json_array_foreach(probes, i, probe) add_unmeasured(checks, probe);
	parts_file_read(&parts);
	*ret = json_pack("{s:i, s:s, s:s, s:O, s:O, s:o}", "v", 1, "kind", "sensitivity", "node",
			 node, "runs", runs, "checks", checks, "parts", host_parts_encode(&parts));
	return 0;
}
