/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/references.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/run/parts_file.h"
#include "agents/run/sku_host.h"
#include "agents/run/sku_name.h"
#include "agents/run/verdict_file.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/judge_files.h"
#include "lib/sys/machine.h"
#include "lib/sys/paths.h"

/* A missing file is reported by the option that names it; other errors by their place. */
static int read_policy(const char *path, struct policy *ret, struct err *err)
{
	if (access(path, F_OK) < 0)
		return err_set(err, EINVAL, "%s: No such file or directory (--policy)", path);
	return policy_file_read(path, ret, err);
}

static int read_sku(const char *given, struct sku *ret, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	int r = sku_name_path(given, &path, err);

	return r < 0 ? r : sku_file_read(path, ret, err);
}

static int read_installed_policy(struct policy *ret, struct err *err)
{
	CLEANUP(freep) char *dir = paths_policy();
	CLEANUP(freep) char *path = xasprintf("%s/default.yaml", dir);

	return access(path, F_OK) < 0 ? 0 : policy_file_read(path, ret, err);
}

/* Hosts without a SKU file are judged without one; a bad file is an error. */
static int find_sku(struct references *out, struct err *err)
{
	struct err why = ERR_INIT;
	int r = sku_host_find(&out->models, &out->sku, &out->changed, &why);

	if (r == -EINVAL && err)
		*err = why;
	out->has_sku = r == 0;
	return r == -EINVAL ? r : 0;
}

int references_read(const char *policy_path, const char *sku_path, struct references *ret,
		    struct err *err)
{
	struct references out = { .policy = policy_init() };
	int r;

	sku_host_models(&out.models);
	if (policy_path)
		r = read_policy(policy_path, &out.policy, err);
	else
		r = read_installed_policy(&out.policy, err);
	if (r == 0 && sku_path) {
		r = read_sku(sku_path, &out.sku, err);
		out.has_sku = out.named_sku = r == 0;
	} else if (r == 0) {
		r = find_sku(&out, err);
	}
	if (r < 0)
		references_release(&out);
	else
		*ret = out;
	return r;
}

void references_recall(struct references *r, const char *profile)
{
	CLEANUP(freep) char *machine = machine_read();

	if (history_open(machine, &r->history, NULL) < 0)
		r->history = NULL;
	r->has_before = verdict_file_last(profile, machine, &r->before) == 0;
}

void references_release(struct references *r)
{
	policy_release(&r->policy);
	if (r->has_sku)
		sku_release(&r->sku);
	sku_models_release(&r->models);
	free(r->changed);
	history_close(r->history);
	verdict_release(&r->before);
	host_parts_release(&r->parts);
	*r = (struct references){ 0 };
}

static bool expectation(void *context, const struct sample *s, double *ret_expected,
			double *ret_floor)
{
	const struct references *r = context;
	const struct sku_expect *e = sku_expectation(&r->sku, s, ret_floor);

	if (e)
		*ret_expected = e->value;
	return e;
}

static bool expects_probe(void *context, const char *probe)
{
	const struct references *r = context;

	return sku_expects_probe(&r->sku, probe);
}

static bool floor_of(void *context, const char *check, const char *locality, double *ret_ratio,
		     double *ret_k)
{
	const struct references *r = context;
	const struct policy_subject subject = {
		.check = check,
		.locality = locality,
		.sku = r->has_sku ? r->sku.name : NULL,
	};
	const struct policy_rule *rule = policy_match(&r->policy, &subject);

	if (!rule)
		return false;
	*ret_ratio = rule->floor_ratio;
	*ret_k = rule->floor_k;
	return true;
}

static const struct host_parts *parts_of(void *context)
{
	const struct references *r = context;

	return &r->parts;
}

/* Failure to write is not reported here: the same host cannot write its other files either. */
void references_name(struct references *r, const struct report *report)
{
	parts_file_read(&r->parts);
	(void)parts_file_learn(&r->parts, report, NULL);
}

struct judge_inputs references_inputs(struct references *r)
{
	return (struct judge_inputs){
		.sku = r->has_sku ? expectation : NULL,
		.sku_context = r,
		.expects = r->has_sku ? expects_probe : NULL,
		.expects_context = r,
		.history = r->history ? history_values : NULL,
		.history_context = r->history,
		.floor = floor_of,
		.floor_context = r,
		.before = r->has_before ? &r->before : NULL,
		.parts = parts_of,
		.parts_context = r,
	};
}

void references_report(const struct references *r, struct report *report)
{
	struct problem p = { .code = PROBLEM_SET_UP };

	if (!r->changed)
		return;
	p.probe = xstrdup("sku");
	p.detail = xstrdup(r->changed);
	report_add_problem(report, &p);
}

int references_learn(struct references *r, const struct report *report,
		     const struct verdict *verdict, struct err *err)
{
	int ret = 0;

	if (r->history)
		ret = history_learn(r->history, report, verdict, err);
	if (ret == 0 && r->has_sku && !r->named_sku && verdict->level == VERDICT_PASS)
		ret = sku_host_pin(&r->sku, &r->models, err);
	return ret;
}
