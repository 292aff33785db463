/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/judge_files.h"

#include "lib/json/json.h"
#include "lib/judge/sku.h"
#include "lib/policy/policy.h"

int policy_file_read(const char *path, struct policy *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r = yaml_read_file(path, &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, path);
	return policy_decode(&root, ret, err);
}

int sku_file_read(const char *path, struct sku *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r = yaml_read_file(path, &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, path);
	return sku_decode(&root, ret, err);
}
