/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/nccl/profiler_version.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "plugins/nccl/profiler_api.h"

enum {
	RECORD = PROFILER_COLL | PROFILER_P2P | PROFILER_KERNEL_CH,
	RECORD_PROXIES = RECORD | PROFILER_PROXY_OP | PROFILER_PROXY_STEP,
};

/*
 * From comparing the sources at each tag with our declarations and rules (profiler_api.h). Issue
 * numbers are those of github.com/NVIDIA/nccl.
 */
static const struct profiler_version versions[] = {
	{ 20000, 22599, 0, "older than 2.26: it has no kernel events" },
	{ 22602, 22606, RECORD,
	  "no proxy steps: their starts and stops do not match (#1658, #1682)" },
	{ 22703, 22706, RECORD_PROXIES, NULL },
	{ 22707, 22707, 0,
	  "with a profiler it has failed with 'Proxy append out of bounds' (#2039)" },
	{ 22803, 22809, RECORD_PROXIES, NULL },
	{ 22902, 22907, RECORD_PROXIES, NULL },
	{ 23003, 23003, 0, "with a profiler it crashes in all-to-all between hosts (#2112)" },
	{ 23004, 23007, RECORD_PROXIES, NULL },
	{ 23100, 23199, 0, "with a profiler its collectives are slower by up to 13 % (#2355)" },
};

static const struct profiler_version unknown = { 0, 0, 0, "not on the list of known versions" };
static const struct profiler_version any = { 0, UINT32_MAX, RECORD_PROXIES,
					     "taken because of ASSAY_NCCL_ANY_VERSION" };

/* ncclResult_t ncclGetVersion(int *version), nccl.h */
typedef int (*get_version_fn)(int *version);

/* dlsym() returns an object pointer, which ISO C cannot convert to a function pointer. */
static uint32_t ask(void *symbol)
{
	union {
		void *object;
		get_version_fn function;
	} it = { .object = symbol };
	int version = 0;

	return it.object && it.function(&version) == PROFILER_SUCCESS && version > 0
		       ? (uint32_t)version
		       : 0;
}

uint32_t profiler_version_of(const void *of_nccl)
{
	uint32_t version = 0;
	void *library;
	Dl_info info;

	if (dladdr(of_nccl, &info) && info.dli_fname) {
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (library) {
			version = ask(dlsym(library, "ncclGetVersion"));
			dlclose(library);
		}
	}
	return version ? version : ask(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
}

const struct profiler_version *profiler_version_find(uint32_t version)
{
	const char *wish = getenv("ASSAY_NCCL_ANY_VERSION");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		if (version >= versions[i].from && version <= versions[i].to)
			return &versions[i];
	}
	return streq(wish, "1") ? &any : &unknown;
}
