/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/references.h"

#include "lib/json.h"

static int read_policy(const char *path, struct policy *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	return policy_decode(&root, ret, err);
}

static int read_sku(const char *path, struct sku *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	return sku_decode(&root, ret, err);
}

int references_read(const char *policy_path, const char *sku_path, struct references *ret,
		    struct err *err)
{
	struct references out = { .policy = policy_init() };
	int r = 0;

	if (policy_path)
		r = read_policy(policy_path, &out.policy, err);
	if (r == 0 && sku_path) {
		r = read_sku(sku_path, &out.sku, err);
		out.has_sku = r == 0;
	}
	if (r < 0)
		references_release(&out);
	else
		*ret = out;
	return r;
}

void references_release(struct references *r)
{
	policy_release(&r->policy);
	if (r->has_sku)
		sku_release(&r->sku);
	*r = (struct references){ 0 };
}

static bool expectation(void *context, const char *check, const char *locality, const char *subject,
			double *ret_expected, double *ret_floor)
{
	const struct references *r = context;
	const struct sku_expect *e = sku_expectation(&r->sku, check, locality, subject);

	if (!e)
		return false;
	*ret_expected = e->value;
	*ret_floor = e->floor;
	return true;
}

static bool expects_probe(void *context, const char *probe)
{
	const struct references *r = context;

	return sku_expects_probe(&r->sku, probe);
}

struct judge_inputs references_inputs(struct references *r)
{
	if (!r->has_sku)
		return (struct judge_inputs){ 0 };
	return (struct judge_inputs){
		.sku = expectation,
		.sku_context = r,
		.expects = expects_probe,
		.expects_context = r,
	};
}
