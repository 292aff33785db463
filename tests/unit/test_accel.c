/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "tests/unit/test.h"

static void types_have_names_and_sizes(void)
{
	static const struct {
		const char *name;
		enum accel_dtype dtype;
		size_t size;
	} cases[] = { { "f32", ACCEL_F32, 4 },
		      { "f64", ACCEL_F64, 8 },
		      { "bf16", ACCEL_BF16, 2 },
		      { "tf32", ACCEL_TF32, 4 },
		      { "fp8", ACCEL_FP8, 1 } };
	enum accel_dtype dtype;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ(accel_dtype_parse(cases[i].name, &dtype), 0);
		CHECK_EQ(dtype, cases[i].dtype);
		CHECK_EQ(accel_dtype_size(dtype), cases[i].size);
		CHECK_STR(accel_dtype_names[dtype], cases[i].name);
	}
	dtype = ACCEL_FP8;
	CHECK_EQ(accel_dtype_parse("f16", &dtype), -EINVAL);
	CHECK_EQ(accel_dtype_parse("", &dtype), -EINVAL);
	CHECK_EQ(dtype, ACCEL_FP8);
}

/* A host whose PCI bus has one device; "" for none. */
static void plug(const char *host, const char *vendor, const char *class)
{
	CLEANUP(freep) char *root = xasprintf("%s/%s", test_dir(), host);
	CLEANUP(freep) char *at = xasprintf("%s/sys/bus/pci/devices/0000:17:00.0/", host);
	CLEANUP(freep) char *vendor_name = xasprintf("%svendor", at);
	CLEANUP(freep) char *class_name = xasprintf("%sclass", at);

	if (vendor[0]) {
		free(test_file(vendor_name, vendor));
		free(test_file(class_name, class));
	}
	(void)setenv("ASSAY_SYSROOT", root, 1);
}

static void a_gpu_is_an_nvidia_display_or_3d_controller(void)
{
	static const struct {
		const char *host, *vendor, *class;
		bool gpu;
	} cases[] = {
		{ "3d", "0x10de\n", "0x030200\n", true },
		{ "vga", "0x10de\n", "0x030000\n", true },
		{ "nvswitch", "0x10de\n", "0x068000\n", false },
		{ "audio", "0x10de\n", "0x040300\n", false },
		{ "bmc", "0x1a03\n", "0x030000\n", false },
		{ "odd", "nonsense\n", "0x030200\n", false },
		{ "none", "", "", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		plug(cases[i].host, cases[i].vendor, cases[i].class);
		CHECK_EQ(accel_gpu_present(), cases[i].gpu);
	}
}

/* Where the PCI bus is hidden (gVisor, Kata, some containers) the driver's own files tell. */
static void a_gpu_is_also_what_the_driver_shows_without_pci(void)
{
	static const struct {
		const char *host, *file;
		bool gpu;
	} cases[] = {
		{ "node", "dev/nvidiactl", true },
		{ "module", "proc/driver/nvidia/version", true },
		{ "amd", "dev/kfd", false },
		{ "tools", "dev/nvidia-caps/nvidia-cap1", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *name = xasprintf("%s/%s", cases[i].host, cases[i].file);

		free(test_file(name, ""));
		plug(cases[i].host, "", "");
		CHECK_EQ(accel_gpu_present(), cases[i].gpu);
	}
}

static void a_gpu_of_amd_is_never_measured_as_the_cpu_unless_asked(void)
{
	static const struct accel_ops cpu = { .name = "cpu" }, cuda = { .name = "cuda" };
	static const struct accel_ops *const both[] = { &cpu, &cuda, NULL };
	static const char words[] = "this host has an AMD GPU (/dev/kfd), which Assay cannot "
				    "measure; --engine cpu measures the CPU cores";
	const struct accel_ops *got = NULL;
	struct err err = ERR_INIT;

	free(test_file("mi300/dev/kfd", ""));
	plug("mi300", "", "");
	CHECK_EQ(accel_choose("auto", both, &got, &err), -ENODEV);
	CHECK_STR(err.msg, words);
	CHECK_EQ(accel_choose("cpu", both, &got, &err), 0);
	CHECK_STR(got->name, "cpu");
	CHECK_EQ(accel_choose("cuda", both, &got, &err), -ENODEV);
	/* One of NVIDIA beside it is measured. */
	free(test_file("mi300/dev/nvidiactl", ""));
	CHECK_EQ(accel_choose("auto", both, &got, &err), 0);
	CHECK_STR(got->name, "cuda");
}

/* As a container sees them that was given no device of theirs. */
static void one_of_amd_on_the_bus_is_seen_by_what_it_is(void)
{
	static const struct accel_ops cpu = { .name = "cpu" };
	static const struct accel_ops *const only_cpu[] = { &cpu, NULL };
	static const struct {
		const char *host, *class;
		int r;
	} cases[] = {
		{ "mi300x", "0x120000\n", -ENODEV }, { "mi250x", "0x038000\n", -ENODEV },
		{ "mi100", "0x030200\n", -ENODEV },  { "screen", "0x030000\n", 0 },
		{ "sound", "0x040300\n", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct accel_ops *got = NULL;
		struct err err = ERR_INIT;

		plug(cases[i].host, "0x1002\n", cases[i].class);
		CHECK_EQ(accel_choose("auto", only_cpu, &got, &err), cases[i].r);
		if (cases[i].r < 0)
			CHECK_HAS(err.msg, "an AMD GPU (on its PCI bus), which Assay cannot");
	}
}

static void auto_never_falls_back_from_a_gpu_to_the_cpu(void)
{
	static const struct accel_ops cpu = { .name = "cpu" }, cuda = { .name = "cuda" };
	static const struct accel_ops *const both[] = { &cpu, &cuda, NULL };
	static const struct accel_ops *const only_cpu[] = { &cpu, NULL };
	static const struct accel_ops *const nothing[] = { NULL };
	static const struct {
		const char *name;
		bool gpu;
		const struct accel_ops *const *engines;
		const char *got; /* or NULL */
		int r;
		const char *words;
	} cases[] = {
		{ "auto", false, both, "cpu", 0, NULL },
		{ "auto", true, both, "cuda", 0, NULL },
		{ "auto", true, only_cpu, NULL, -ENOTSUP,
		  "this build has no CUDA engine and this host has a GPU (--engine cpu measures "
		  "the "
		  "CPU cores)" },
		{ "auto", false, nothing, NULL, -ENOTSUP, "this build has no CPU engine" },
		{ "cpu", true, both, "cpu", 0, NULL },
		{ "cuda", true, both, "cuda", 0, NULL },
		{ "cuda", false, both, NULL, -ENODEV,
		  "no NVIDIA GPU on this host's PCI bus, and no driver for one" },
		{ "CPU", false, both, NULL, -EINVAL, "--engine: 'CPU' is not auto, cpu or cuda" },
		{ "", true, both, NULL, -EINVAL, "--engine: '' is not auto, cpu or cuda" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct accel_ops *got = NULL;
		struct err err = ERR_INIT;

		plug(cases[i].gpu ? "3d" : "none", cases[i].gpu ? "0x10de\n" : "", "0x030200\n");
		CHECK_EQ(accel_choose(cases[i].name, cases[i].engines, &got, &err), cases[i].r);
		CHECK_STR(got ? got->name : NULL, cases[i].got);
		CHECK_STR(err.msg, cases[i].words ? cases[i].words : "");
	}
}

static const struct test tests[] = {
	TEST(types_have_names_and_sizes),
	TEST(a_gpu_is_an_nvidia_display_or_3d_controller),
	TEST(a_gpu_is_also_what_the_driver_shows_without_pci),
	TEST(a_gpu_of_amd_is_never_measured_as_the_cpu_unless_asked),
	TEST(one_of_amd_on_the_bus_is_seen_by_what_it_is),
	TEST(auto_never_falls_back_from_a_gpu_to_the_cpu),
};

TEST_SUITE(tests);
