/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_load.h"

#include <errno.h>
#include <stdio.h>

#include "probes/accel/library.h"

enum { LT_MAJORS_MAX = 8 }; /* versions to try, from the driver's own down */

void cuda_words(const struct cuda_driver *driver, unsigned result, char ret[static 160])
{
	const char *name = NULL, *text = NULL;

	bool known = driver->error_name(result, &name) == CUDA_OK && name;

	if (!known || driver->error_string(result, &text) != CUDA_OK || !text)
		(void)snprintf(ret, 160, "%s %u", known ? name : "CUDA error", result);
	else
		(void)snprintf(ret, 160, "%s %u (%s)", name, result, text);
}

/* What to do about a driver that does not start. */
static const char *advice(unsigned result)
{
	switch (result) {
	case CUDA_STUB_LIBRARY:
		return ": this libcuda.so.1 is the stub for linking, not the driver's own";
	case CUDA_NO_DEVICE:
		return ": this host has a GPU and the driver sees none; check the kernel log";
	case CUDA_SYSTEM_NOT_READY:
		return ": is nvidia-fabricmanager running?";
	case CUDA_SYSTEM_DRIVER_MISMATCH:
		return ": libcuda and the kernel driver have different versions; reboot after "
		       "an "
		       "update";
	default:
		return ": is the kernel driver loaded (/dev/nvidia0)?";
	}
}

static int load_driver(struct cuda_libs *libs, struct err *err)
{
	struct cuda_driver *table = &libs->driver;
	const struct library_symbol symbols[] = { CUDA_DRIVER_FUNCTIONS(LIBRARY_SYMBOL) };
	char words[160];
	unsigned result;
	void *library;
	int r = library_load("libcuda.so.1", &library, err);

	if (r == 0)
		r = library_find(library, "libcuda.so.1", symbols, ARRAY_SIZE(symbols), err);
	if (r < 0)
		return r;
	/* Before cuInit(), so that an old driver is reported as such, whatever else is wrong. */
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): library_find() set all or failed */
	result = table->driver_version(&libs->driver_version);
	if (result == CUDA_OK && libs->driver_version < CUDA_DRIVER_MIN)
		return err_set(err, ENOTSUP,
			       "the GPU driver supports only CUDA %d.%d; at least %d.%d is needed",
			       libs->driver_version / 1000, libs->driver_version % 1000 / 10,
			       CUDA_DRIVER_MIN / 1000, CUDA_DRIVER_MIN % 1000 / 10);
	if (result == CUDA_OK)
		result = table->init(0);
	if (result == CUDA_OK)
		return 0;
	cuda_words(table, result, words);
	return err_set(err, ENOTSUP, "the GPU driver failed to start: %s%s", words, advice(result));
}

/* A cuBLASLt newer than the driver's CUDA version does not run, so start with the driver's own. */
static int load_lt(struct cuda_libs *libs, struct err *err)
{
	struct cuda_lt *table = &libs->lt;
	const struct library_symbol symbols[] = { CUDA_LT_FUNCTIONS(LIBRARY_SYMBOL) };
	char names[LT_MAJORS_MAX][32];
	const char *sonames[LT_MAJORS_MAX + 1] = { NULL }, *soname = NULL;
	int newest = libs->driver_version / 1000, i;
	void *library;
	int r;

	for (i = 0; i < LT_MAJORS_MAX && newest - i >= LT_MAJOR_MIN; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "libcublasLt.so.%d", newest - i);
		sonames[i] = names[i];
	}
	r = library_load_cuda(sonames, &library, &soname, err);
	if (r < 0)
		return err_wrap(err, r, "cannot load libcublasLt.so.%d or an older one down to .%d",
				newest, LT_MAJOR_MIN);
	return library_find(library, soname, symbols, ARRAY_SIZE(symbols), err);
}

static const char nvml_soname[] = "libnvidia-ml.so.1";

static int load_nvml_base(void *library, struct cuda_nvml *table, struct err *err)
{
	const struct library_symbol symbols[] = { CUDA_NVML_FUNCTIONS(LIBRARY_SYMBOL) };

	return library_find(library, nvml_soname, symbols, ARRAY_SIZE(symbols), err);
}

static int load_nvml_health(void *library, struct nvml_health_calls *table, struct err *err)
{
	const struct library_symbol symbols[] = { NVML_HEALTH_FUNCTIONS(LIBRARY_SYMBOL) };

	return library_find(library, nvml_soname, symbols, ARRAY_SIZE(symbols), err);
}

int nvml_load(struct nvml_calls *ret, struct err *err)
{
	void *library;
	int r = library_load(nvml_soname, &library, err);

	if (r == 0)
		r = load_nvml_base(library, &ret->base, err);
	if (r == 0)
		r = load_nvml_health(library, &ret->health, err);
	return r;
}

static void load_nvml(struct cuda_libs *libs)
{
	struct err err = ERR_INIT;
	void *library;
	int r = library_load(nvml_soname, &library, &err);

	if (r == 0)
		r = load_nvml_base(library, &libs->nvml, &err);
	libs->has_nvml = r == 0;
	(void)snprintf(libs->nvml_why, sizeof(libs->nvml_why), "%s", err.msg);
}

int cuda_libs_load(bool products, struct cuda_libs *ret, struct err *err)
{
	struct cuda_libs libs = { 0 };
	int r = load_driver(&libs, err);

	if (r == 0 && products)
		r = load_lt(&libs, err);
	if (r < 0)
		return r;
	load_nvml(&libs);
	*ret = libs;
	return 0;
}
