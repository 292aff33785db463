/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"
#include "tests/unit/test.h"

static void use_tree(const char *name)
{
	CLEANUP(freep) char *root = xasprintf("%s/%s", test_dir(), name);

	(void)setenv("ASSAY_SYSROOT", root, 1);
}

static void directories_come_from_the_environment_or_a_default(void)
{
	static const struct {
		const char *variable;
		char *(*path)(void);
		const char *end; /* of the default */
	} cases[] = {
		{ "ASSAY_STATE_DIR", paths_state, "/lib/assay" },
		{ "ASSAY_RUN_DIR", paths_run, "/run/assay" },
		{ "ASSAY_CONF_DIR", paths_conf, "/assay" },
		{ "ASSAY_POLICY_DIR", paths_policy, "policies" },
		{ "ASSAY_PROBE_DIR", paths_probes, "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *given = NULL;
		CLEANUP(freep) char *standard = NULL;
		CLEANUP(freep) char *empty = NULL;

		(void)setenv(cases[i].variable, "/given", 1);
		given = cases[i].path();
		CHECK_STR(given, "/given");
		(void)unsetenv(cases[i].variable);
		standard = cases[i].path();
		CHECK_HAS(standard, cases[i].end);
		(void)setenv(cases[i].variable, "", 1); /* empty means not set */
		empty = cases[i].path();
		CHECK_STR(empty, standard);
		(void)unsetenv(cases[i].variable);
	}
}

static void the_sysroot_goes_before_sys_and_proc(void)
{
	CLEANUP(freep) char *line = test_file("tree/sys/devices/system/cpu/online", "0-7\n");
	CLEANUP(freep) char *text = NULL;
	int fd;

	use_tree("tree");
	fd = paths_open_sys("/sys/devices/system/cpu");
	CHECK(fd >= 0);
	CHECK_EQ(file_read_line(fd, "online", &text), 0);
	CHECK_STR(text, "0-7");
	closep(&fd);
	CHECK_EQ(paths_open_sys("/sys/nowhere"), -ENOENT);
	CHECK_EQ(paths_open_sys("/sys/devices/system/cpu/online"), -ENOTDIR);
	(void)unsetenv("ASSAY_SYSROOT");
	CHECK_STR(paths_sysroot(), "");
}

static void a_host_says_who_it_is(void)
{
	CLEANUP(freep) char *id = test_file("host/proc/sys/kernel/random/boot_id", "abc-def\n");
	CLEANUP(freep)
	char *cpus = test_file("host/proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU @ 2GHz\n"
						    "microcode\t: 0x1\n\nprocessor\t: 1\n");
	CLEANUP(freep)
	char *product = test_file("host/sys/class/dmi/id/product_name", "Box 9000\n");
	CLEANUP(freep) char *boot = NULL;
	CLEANUP(freep) char *name = NULL;
	CLEANUP(json_freep) json_t *env = NULL;

	use_tree("host");
	boot = host_boot_id();
	CHECK_STR(boot, "abc-def");
	env = host_env();
	CHECK_STR(json_string_value(json_object_get(env, "cpu")), "A CPU @ 2GHz");
	CHECK_STR(json_string_value(json_object_get(env, "microcode")), "0x1");
	CHECK_STR(json_string_value(json_object_get(env, "product")), "Box 9000");
	CHECK(!json_object_get(env, "bios"));
	CHECK(json_object_get(env, "kernel") != NULL);
	(void)setenv("ASSAY_NODE", "node-1", 1);
	name = host_name();
	CHECK_STR(name, "node-1");
	(void)unsetenv("ASSAY_NODE");
	(void)unsetenv("ASSAY_SYSROOT");
}

static void a_host_that_says_nothing_is_no_failure(void)
{
	CLEANUP(freep) char *odd = test_file("silent/proc/cpuinfo", "model name\nmicrocode");
	CLEANUP(freep) char *bytes = test_file("silent/sys/class/dmi/id/sys_vendor", "\xff\xfe\n");
	CLEANUP(freep) char *boot = NULL;
	CLEANUP(freep) char *name = host_name();
	CLEANUP(json_freep) json_t *env = NULL;

	use_tree("silent");
	boot = host_boot_id();
	CHECK_STR(boot, "");
	CHECK(name[0] != '\0');
	env = host_env();
	CHECK(!json_object_get(env, "cpu"));
	CHECK(!json_object_get(env, "vendor"));
	(void)unsetenv("ASSAY_SYSROOT");
}

static const struct test tests[] = {
	TEST(directories_come_from_the_environment_or_a_default),
	TEST(the_sysroot_goes_before_sys_and_proc),
	TEST(a_host_says_who_it_is),
	TEST(a_host_that_says_nothing_is_no_failure),
};

TEST_SUITE(tests);
