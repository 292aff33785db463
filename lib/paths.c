/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/xalloc.h"

static char *from_env(const char *variable)
{
	const char *value = secure_getenv(variable);

	return value && *value ? xstrdup(value) : NULL;
}

static char *env_or(const char *variable, const char *otherwise)
{
	char *value = from_env(variable);

	return value ? value : xstrdup(otherwise);
}

/* The directory of this program when it is a build directory, else NULL. */
static char *build_dir(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	CLEANUP(freep) char *mark = NULL;
	char *dir;

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	dir = dirname(exe);
	mark = xasprintf("%s/policies/profiles.yaml", dir);
	return access(mark, R_OK) == 0 ? xstrdup(dir) : NULL;
}

static char *beside_or(const char *variable, const char *beside, const char *installed)
{
	CLEANUP(freep) char *dir = NULL;
	char *value = from_env(variable);

	if (value)
		return value;
	dir = build_dir();
	return dir ? xasprintf("%s%s", dir, beside) : xstrdup(installed);
}

char *paths_state(void)
{
	return env_or("ASSAY_STATE_DIR", ASSAY_DEFAULT_STATE_DIR);
}

char *paths_run(void)
{
	return env_or("ASSAY_RUN_DIR", ASSAY_DEFAULT_RUN_DIR);
}

char *paths_conf(void)
{
	return env_or("ASSAY_CONF_DIR", ASSAY_DEFAULT_CONF_DIR);
}

char *paths_policy(void)
{
	return beside_or("ASSAY_POLICY_DIR", "/policies", ASSAY_DEFAULT_POLICY_DIR);
}

char *paths_probes(void)
{
	return beside_or("ASSAY_PROBE_DIR", "", ASSAY_DEFAULT_PROBE_DIR);
}

char *paths_programs(void)
{
	char *dir = build_dir();

	return dir ? dir : xstrdup(ASSAY_DEFAULT_BIN_DIR);
}

const char *paths_sysroot(void)
{
	const char *root = secure_getenv("ASSAY_SYSROOT");

	return root ? root : "";
}

int paths_open_sys(const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", paths_sysroot(), path);
	int fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

char *paths_kmsg(void)
{
	const char *named = secure_getenv("ASSAY_KMSG");

	return named && *named ? xstrdup(named) : xasprintf("%s/dev/kmsg", paths_sysroot());
}
