/* SPDX-License-Identifier: Apache-2.0 */
/* Separate, since the rest needs no YAML. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/kernel_rules.h"

static int load(const char *dir, const char *name,
		int (*take)(struct kernel_rules *, const json_t *, const char *, struct err *),
		struct kernel_rules *rules, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	CLEANUP(json_freep) json_t *doc = NULL;

	/* Any problem with our own file is bad input: exit status 2. */
	if (yaml_read_file(path, &doc, err) < 0)
		return -EINVAL;
	return take(rules, doc, path, err);
}

int kernel_rules_load(const char *dir, struct kernel_rules *ret, struct err *err)
{
	struct kernel_rules rules = { 0 };
	int r = load(dir, "kernel-log.yaml", kernel_rules_take_patterns, &rules, err);

	if (r == 0)
		r = load(dir, "xid.yaml", kernel_rules_take_xids, &rules, err);
	if (r < 0)
		kernel_rules_release(&rules);
	else
		*ret = rules;
	return r;
}
