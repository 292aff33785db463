/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/nccl_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "probes/accel/library.h"
#include "probes/coll/nccl.h"

/* Settings that NCCL reads from the environment when it starts. */
static const struct {
	const char *name, *value;
} settings[] = {
	/* 4.096 us x 2^17 and 7 tries: a dead link is reported after 4 s instead of 30 s. */
	{ "NCCL_IB_TIMEOUT", "17" },
	/* The RAS service listens on a port that a job's NCCL needs. */
	{ "NCCL_RAS_ENABLE", "0" },
	/* The default is stdout, where the samples go. */
	{ "NCCL_DEBUG_FILE", "/dev/stderr" },
};

static void set_environment(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		(void)setenv(settings[i].name, settings[i].value, 1);
}

int nccl_load(struct nccl_library *ret, struct err *err)
{
	struct nccl_library library = { 0 };
	struct nccl *table = &library.call;
	const struct library_symbol symbols[] = { NCCL_FUNCTIONS(LIBRARY_SYMBOL) };
	static const char *const sonames[] = { "libnccl.so.2", NULL };
	const char *soname = NULL;
	void *handle;
	int version = 0, r;

	set_environment();
	r = library_load_cuda(sonames, &handle, &soname, err);
	if (r < 0)
		return err_wrap(err, r, "cannot load libnccl.so.2");
	r = library_find(handle, soname, symbols, ARRAY_SIZE(symbols), err);
	if (r < 0)
		return r;
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): library_find() set all or failed */
	if (table->get_version(&version) != NCCL_OK || version < NCCL_VERSION_MIN)
		return err_set(err, ENOTSUP,
			       "libnccl.so.2 is version %d; at least %d (2.14) is needed, for "
			       "communicators that do not block",
			       version, NCCL_VERSION_MIN);
	(void)snprintf(library.version, sizeof(library.version), "nccl %d.%d.%d", version / 10000,
		       version % 10000 / 100, version % 100);
	*ret = library;
	return 0;
}
