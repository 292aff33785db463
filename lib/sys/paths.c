/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/xalloc.h"

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

static char *program_dir(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	return xstrdup(dirname(exe));
}

static bool has_policies(const char *root, const char *dir)
{
	CLEANUP(freep) char *mark = xasprintf("%s%s/profiles.yaml", root, dir);

	return access(mark, R_OK) == 0;
}

/* The part of `dir` before the suffix `installed`, in new memory; NULL if it has another end. */
static char *root_before(const char *dir, const char *installed)
{
	size_t have = strlen(dir), want = strlen(installed);

	if (have < want || !streq(dir + have - want, installed))
		return NULL;
	return xasprintf("%.*s", (int)(have - want), dir);
}

/* The root of the installed directories: "" or the DESTDIR of the tree that has this program. */
static char *installed_root(const char *dir)
{
	static const char *const places[] = { ASSAY_DEFAULT_BIN_DIR, ASSAY_DEFAULT_SBIN_DIR,
					      ASSAY_DEFAULT_PROBE_DIR };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		CLEANUP(freep) char *root = root_before(dir, places[i]);

		if (root && has_policies(root, ASSAY_DEFAULT_POLICY_DIR))
			return TAKE(root);
	}
	return xstrdup("");
}

/* `beside` in the build directory of this program, else `installed` in its tree. */
static char *beside_or(const char *beside, const char *installed)
{
	CLEANUP(freep) char *dir = program_dir(), *root = NULL;

	if (dir && has_policies(dir, "/policies"))
		return xasprintf("%s%s", dir, beside);
	root = installed_root(dir ? dir : "");
	return xasprintf("%s%s", root, installed);
}

static char *env_or_beside(const char *variable, const char *beside, const char *installed)
{
	char *value = from_env(variable);

	return value ? value : beside_or(beside, installed);
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
	return env_or_beside("ASSAY_POLICY_DIR", "/policies", ASSAY_DEFAULT_POLICY_DIR);
}

char *paths_page(void)
{
	return env_or_beside("ASSAY_PAGE_DIR", "/page", ASSAY_DEFAULT_PAGE_DIR);
}

char *paths_probes(void)
{
	return env_or_beside("ASSAY_PROBE_DIR", "", ASSAY_DEFAULT_PROBE_DIR);
}

char *paths_programs(void)
{
	return beside_or("", ASSAY_DEFAULT_BIN_DIR);
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
