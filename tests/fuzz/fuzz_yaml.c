/* SPDX-License-Identifier: Apache-2.0 */
/* Files that people write: each text is passed to every reader of such files. */
#include <errno.h>
#include <stdlib.h>

#include "agents/assayd/assayd_config.h"
#include "agents/run/profiles.h"
#include "controller/auth/tokens.h"
#include "controller/config/settings.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/sku.h"
#include "lib/policy/policy.h"
#include "lib/sys/kernel_rules.h"
#include "tests/fuzz/fuzz.h"

static int take_policy(const struct jval *root, struct err *err)
{
	struct policy policy = policy_init();
	int r = policy_decode(root, &policy, err);

	policy_release(&policy);
	return r;
}

static int take_sku(const struct jval *root, struct err *err)
{
	struct sku sku = { 0 };
	int r = sku_decode(root, &sku, err);

	sku_release(&sku);
	return r;
}

static int take_profiles(const struct jval *root, struct err *err)
{
	struct profiles profiles = { 0 };
	int r = profiles_decode(root, &profiles, err);

	if (r == 0)
		profiles_release(&profiles);
	return r;
}

static int take_assayd(const struct jval *root, struct err *err)
{
	struct assayd_config config = { 0 };
	int r = assayd_config_decode(root, &config, err);

	if (r == 0)
		assayd_config_release(&config);
	return r;
}

static int take_kernel_log(const struct jval *root, struct err *err)
{
	struct kernel_rules rules = { 0 };
	int r = kernel_rules_take_patterns(&rules, root->value, root->file, err);

	kernel_rules_release(&rules);
	return r;
}

static int take_xids(const struct jval *root, struct err *err)
{
	struct kernel_rules rules = { 0 };
	int r = kernel_rules_take_xids(&rules, root->value, root->file, err);

	kernel_rules_release(&rules);
	return r;
}

static int read_tokens(const char *path, struct err *err)
{
	struct tokens access = { 0 };
	int r = tokens_read(path, &access, err);

	if (r == 0)
		tokens_release(&access);
	return r;
}

static int read_settings(const char *path, struct err *err)
{
	struct settings settings = settings_init();
	int r = settings_read(path, &settings, err);

	if (r == 0)
		r = settings_check(&settings, err);
	settings_release(&settings);
	return r;
}

static void offer(const json_t *value)
{
	static int (*const takers[])(const struct jval *root, struct err *err) = {
		take_policy, take_sku, take_profiles, take_assayd, take_kernel_log, take_xids,
	};
	struct jval root = jval_root(value, "file.yaml");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(takers); i++) {
		struct err err = ERR_INIT;
		int r = takers[i](&root, &err);

		if (r < 0)
			fuzz_refused(r, &err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const readers[])(const char *path, struct err *err) = { read_tokens,
									     read_settings };
	CLEANUP(freep) char *text = fuzz_bytes(data, size);
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;
	const char *path;
	size_t i;
	int r = yaml_parse(text, size, "file.yaml", &value, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	offer(value);
	path = fuzz_file(data, size);
	for (i = 0; i < ARRAY_SIZE(readers); i++) {
		struct err why = ERR_INIT;

		r = readers[i](path, &why);
		if (r < 0)
			fuzz_refused(r, &why);
	}
	return 0;
}
