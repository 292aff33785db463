/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_exclude.h"

#include <errno.h>

#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

const char *const job_exclude_forms[] = { "kube", "slurm", "file", NULL };

static const char *name_at(const json_t *names, size_t i)
{
	return json_string_value(json_array_get(names, i));
}

/* Insert sorted, without duplicates. */
static int add(json_t *all, const json_t *names, struct err *err)
{
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		const char *name = name_at(names, i);

		if (!name || !node_name_ok(name))
			return err_set(
				err, EPROTO,
				"the controller excludes something that cannot be a host name");
		json_insert_text(all, name);
	}
	return 0;
}

int job_exclude_of(const json_t *job, const char *form, json_t **ret, struct err *err)
{
	const json_t *suspects = json_object_get(job, "suspects");
	CLEANUP(json_freep) json_t *all = json_array();
	size_t i;
	int r = add(all, json_object_get(json_object_get(job, "advice"), "exclude"), err);

	for (i = 0; r == 0 && i < json_array_size(suspects); i++) {
		const json_t *one = json_array_get(suspects, i);

		if (streq(raw_at(one, "action"), "evict"))
			r = add(all, json_object_get(one, "hosts"), err);
	}
	if (r < 0)
		return r;
	*ret = json_pack("{s:s, s:s, s:s, s:O}", "job", raw_at(job, "job"), "id", raw_at(job, "id"),
			 "as", form, "exclude", all);
	return 0;
}

static void print_joined(const json_t *names, const char *quote, FILE *out)
{
	size_t i;

	for (i = 0; i < json_array_size(names); i++)
		(void)fprintf(out, "%s%s%s%s", i > 0 ? "," : "", quote, name_at(names, i), quote);
}

void job_exclude_print(const json_t *exclude, FILE *out)
{
	const json_t *names = json_object_get(exclude, "exclude");
	const char *form = raw_at(exclude, "as");
	size_t i;

	if (json_array_size(names) == 0)
		return;
	if (streq(form, "kube")) {
		(void)fputs(
			"affinity:\n  nodeAffinity:\n"
			"    requiredDuringSchedulingIgnoredDuringExecution:\n"
			"      nodeSelectorTerms:\n        - matchExpressions:\n"
			"            - {key: kubernetes.io/hostname, operator: NotIn, values: [",
			out);
		print_joined(names, "\"", out);
		(void)fputs("]}\n", out);
	} else if (streq(form, "slurm")) {
		(void)fputs("--exclude=", out);
		print_joined(names, "", out);
		(void)fputs("\n", out);
	} else {
		for (i = 0; i < json_array_size(names); i++)
			(void)fprintf(out, "%s\n", name_at(names, i));
	}
}
