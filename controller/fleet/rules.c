/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/rules.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/fleet/baseline.h"
#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

/* Hash of the content, independent of the layout. */
static void name_version(const json_t *value, char ret_version[static POLICY_VERSION_SIZE])
{
	CLEANUP(freep) char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	char digits[SHA256_HEX_SIZE];
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add_text(&hash, text);
	sha256_hex(&hash, digits);
	memcpy(ret_version, digits, POLICY_VERSION_SIZE - 1);
	ret_version[POLICY_VERSION_SIZE - 1] = '\0';
}

static int read_policy(const char *path, struct rules *out, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = policy_decode(&root, &out->policy, err);
	if (r == 0)
		name_version(value, out->version);
	if (r == 0)
		out->document = TAKE(value);
	return r;
}

static int read_sku(const char *path, struct rules *out, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct sku sku = { 0 };
	struct jval root;
	int r;

	if (out->n_skus == RULES_SKUS_MAX)
		return err_set(err, E2BIG, "%s: more than %d SKU files", path, RULES_SKUS_MAX);
	r = yaml_read_file(path, &value, err);
	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = sku_decode(&root, &sku, err);
	if (r < 0) {
		sku_release(&sku);
		return r;
	}
	out->skus = xrealloc(out->skus, out->n_skus + 1, sizeof(*out->skus));
	out->skus[out->n_skus++] = sku;
	return 0;
}

static bool is_yaml(const char *name)
{
	size_t length = strlen(name), suffix = strlen(".yaml");

	return name[0] != '.' && length > suffix && streq(name + length - suffix, ".yaml");
}

static int read_skus(const char *directory, struct rules *out, struct err *err)
{
	CLEANUP(closedirp) DIR *dir = opendir(directory);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : err_errno(err, errno, "%s", directory);
	while (r == 0 && (entry = readdir(dir))) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", directory, entry->d_name);

		if (is_yaml(entry->d_name))
			r = read_sku(path, out, err);
	}
	return r;
}

int rules_read(const char *policy_path, struct rules *ret, struct err *err)
{
	CLEANUP(freep) char *dir = paths_policy();
	CLEANUP(freep) char *usual = xasprintf("%s/default.yaml", dir);
	CLEANUP(freep) char *skus = xasprintf("%s/sku", dir);
	struct rules out = { .policy = policy_init(), .version = "built-in" };
	int r = 0;

	if (policy_path)
		r = read_policy(policy_path, &out, err);
	else if (access(usual, F_OK) == 0)
		r = read_policy(usual, &out, err);
	if (r == 0)
		r = read_skus(skus, &out, err);
	if (r < 0)
		rules_release(&out);
	else
		*ret = out;
	return r;
}

void rules_release(struct rules *r)
{
	size_t i;

	policy_release(&r->policy);
	json_decref(r->document);
	for (i = 0; i < r->n_skus; i++)
		sku_release(&r->skus[i]);
	free(r->skus);
	*r = (struct rules){ 0 };
}

struct rules_view rules_view(const struct rules *r, const struct report *report,
			     struct baselines *baselines)
{
	struct rules_view view = {
		.rules = r, .sku_name = report->sku, .report = report, .baselines = baselines
	};
	size_t i;

	for (i = 0; report->sku && i < r->n_skus; i++) {
		if (streq(r->skus[i].name, report->sku))
			view.sku = &r->skus[i];
	}
	return view;
}

static bool expectation(void *context, const struct sample *s, double *ret_expected,
			double *ret_floor)
{
	const struct rules_view *view = context;
	const struct sku_expect *e = sku_expectation(view->sku, s, ret_floor);

	if (e)
		*ret_expected = e->value;
	return e;
}

static bool expects_probe(void *context, const char *probe)
{
	const struct rules_view *view = context;

	return sku_expects_probe(view->sku, probe);
}

static bool floor_of(void *context, const char *check, const char *locality, double *ret_ratio,
		     double *ret_k)
{
	struct rules_view *view = context;
	const struct policy_subject subject = {
		.check = check,
		.locality = locality,
		.sku = view->sku_name,
	};
	const struct policy_rule *rule = view->last.rule;

	if (!streq(view->last.check, check) || !streq(view->last.locality, locality)) {
		rule = policy_match(&view->rules->policy, &subject);
		view->last.check = check;
		view->last.locality = locality;
		view->last.rule = rule;
	}
	if (!rule)
		return false;
	*ret_ratio = rule->floor_ratio;
	*ret_k = rule->floor_k;
	return true;
}

static bool fleet_of(void *context, const struct sample *s, const struct measure *m,
		     struct expectation *ret)
{
	struct rules_view *view = context;

	return baselines_expect(view->baselines, view->report, s, m, &view->last_of_fleet, ret);
}

static double within_of(void *context, const struct sample *s)
{
	const struct rules_view *view = context;

	return baselines_within(view->baselines, view->report, s);
}

static size_t usual_of(void *context, const struct sample *s, double *ret_ratios)
{
	const struct rules_view *view = context;

	return baselines_usual(view->baselines, view->report, s, ret_ratios);
}

static size_t own_of(void *context, const struct sample *s, double *ret_values)
{
	const struct rules_view *view = context;

	return baselines_own(view->baselines, view->report, s, ret_values);
}

static size_t whole_of(void *context, const struct sample *s, const struct measure *m,
		       struct expectation *ret)
{
	const struct rules_view *view = context;

	return baselines_whole(view->baselines, view->report, s, m, ret);
}

struct judge_inputs rules_inputs(struct rules_view *view)
{
	return (struct judge_inputs){
		.sku = view->sku ? expectation : NULL,
		.sku_context = view,
		.expects = view->sku ? expects_probe : NULL,
		.expects_context = view,
		.fleet = view->baselines ? fleet_of : NULL,
		.within = view->baselines ? within_of : NULL,
		.fleet_context = view,
		.usual = view->baselines ? usual_of : NULL,
		.own = view->baselines ? own_of : NULL,
		.whole = view->baselines ? whole_of : NULL,
		.usual_context = view,
		.floor = floor_of,
		.floor_context = view,
		.parts = view->parts,
		.parts_context = view->parts_context,
	};
}
