/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sku_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/judge_files.h"
#include "tests/unit/test.h"

enum { FILES_MAX = 64, TEXT_SIZE = 64 };

static struct sku files[FILES_MAX];
static size_t n_files;

static bool is_yaml(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && streq(dot, ".yaml");
}

void sku_files_read(void)
{
	CLEANUP(freep) char *dir = test_source("policies/sku");
	DIR *d = n_files > 0 ? NULL : opendir(dir);
	const struct dirent *entry;

	CHECK(d || n_files > 0);
	while (d && (entry = readdir(d))) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, entry->d_name);
		struct err err = ERR_INIT;

		if (!is_yaml(entry->d_name) || n_files == FILES_MAX)
			continue;
		CHECK_EQ(sku_file_read(path, &files[n_files++], &err), 0);
		CHECK_STR(err.msg, "");
	}
	if (d)
		(void)closedir(d);
}

void sku_files_release(void)
{
	while (n_files > 0)
		sku_release(&files[--n_files]);
}

size_t sku_files_count(void)
{
	return n_files;
}

const struct sku *sku_files_at(size_t i)
{
	return &files[i];
}

const struct sku *sku_files_find(const struct sku_host *h, uint64_t gpus)
{
	char gpu[SKU_TEST_ID], nic[SKU_TEST_ID], nvswitch[SKU_TEST_ID], product[TEXT_SIZE];
	char cpu[] = "", *no[] = { NULL }, *one_gpu[] = { gpu, NULL }, *one_nic[] = { nic, NULL };
	char *one_switch[] = { nvswitch, NULL };
	const struct sku_models m = {
		.product = product,
		.cpu = cpu,
		.gpus = h->gpu[0] ? one_gpu : no,
		.nics = one_nic,
		.switches = h->nvswitch[0] ? one_switch : no,
		.n_gpus = gpus,
		.is_virtual = h->is_virtual,
	};
	const struct sku *best = NULL;
	size_t i;

	memcpy(gpu, h->gpu, sizeof(gpu));
	memcpy(nic, h->nic, sizeof(nic));
	memcpy(nvswitch, h->nvswitch, sizeof(nvswitch));
	(void)snprintf(product, sizeof(product), "%s", h->product);
	for (i = 0; i < n_files; i++) {
		if (sku_matches(&files[i], &m) && (!best || sku_better(&files[i], best, &m)))
			best = &files[i];
	}
	return best;
}

bool sku_files_expect(void *context, const struct sample *s, double *ret_expected, double *ret_floor)
{
	const struct sku_expect *e = context ? sku_expectation(context, s, ret_floor) : NULL;

	if (e)
		*ret_expected = e->value;
	return e;
}
