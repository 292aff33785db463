/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/host.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/cpuinfo.h"
#include "lib/sys/file.h"
#include "lib/sys/machine.h"
#include "lib/sys/paths.h"

enum { HOST_NAME_SIZE = 256, HOST_NAME_MOST = 253, CPUINFO_MAX = 16 * 1024 * 1024 };

char *host_name(void)
{
	const char *named = secure_getenv("ASSAY_NODE");
	char name[HOST_NAME_SIZE] = "localhost";

	if (named && *named)
		return xstrdup(named);
	(void)gethostname(name, sizeof(name) - 1);
	return xstrdup(name);
}

bool host_name_ok(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_";

	return name && name[0] && name[0] != '.' && name[0] != '-' &&
	       strlen(name) <= HOST_NAME_MOST && !name[strspn(name, allowed)];
}

static char *read_sys(const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", paths_sysroot(), path);
	char *text = NULL;

	return file_read_line(AT_FDCWD, full, &text) < 0 ? NULL : text;
}

char *host_boot_id(void)
{
	char *id = read_sys("/proc/sys/kernel/random/boot_id");

	return id ? id : xstrdup("");
}

static char *read_cpuinfo(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/cpuinfo", paths_sysroot());
	char *text = NULL;

	return file_read(AT_FDCWD, path, CPUINFO_MAX, &text, NULL, NULL) < 0 ? NULL : text;
}

char *host_cpu_model(void)
{
	CLEANUP(freep) char *text = read_cpuinfo();

	return text ? cpuinfo_model(text) : NULL;
}

/* Takes `value`; omits the key if it is NULL, empty or not UTF-8. */
static void put(json_t *env, const char *key, char *value)
{
	if (value && *value)
		(void)json_object_set_new(env, key, json_string(value));
	free(value);
}

json_t *host_env(void)
{
	CLEANUP(freep) char *cpus = read_cpuinfo();
	json_t *env = json_object();
	struct utsname uts;

	put(env, "kernel", read_sys("/proc/sys/kernel/osrelease"));
	if (!json_object_get(env, "kernel") && uname(&uts) == 0)
		put(env, "kernel", xstrdup(uts.release));
	put(env, "product", read_sys("/sys/class/dmi/id/product_name"));
	put(env, "vendor", read_sys("/sys/class/dmi/id/sys_vendor"));
	put(env, "bios", read_sys("/sys/class/dmi/id/bios_version"));
	put(env, "driver.nvidia", read_sys("/sys/module/nvidia/version"));
	put(env, "driver.mlx5", read_sys("/sys/module/mlx5_core/version"));
	put(env, "machine", machine_read());
	if (cpus) {
		put(env, "cpu", cpuinfo_model(cpus));
		put(env, "microcode", cpuinfo_value(cpus, "microcode"));
	}
	return env;
}
