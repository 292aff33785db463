/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/suite.h"

#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

const char *const suite_probes[] = {
	"host-state", "gpu-state", "rnic-state", "gemm",       "memory",
	"loopback",   "rnic-pair", "all-to-all", "all-reduce", NULL,
};

bool suite_has(const char *name)
{
	size_t i;

	for (i = 0; suite_probes[i]; i++) {
		if (streq(suite_probes[i], name))
			return true;
	}
	return false;
}

char *suite_path(const char *name)
{
	CLEANUP(freep) char *dir = paths_probes();

	return xasprintf("%s/assay-probe-%s", dir, name);
}

bool suite_can_start(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}
