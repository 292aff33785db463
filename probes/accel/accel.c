/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/accel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum {
	PCI_VENDOR_NVIDIA = 0x10de,
	PCI_VENDOR_AMD = 0x1002,
	/* PCI Code and ID Assignment Specification */
	PCI_CLASS_DISPLAY = 0x03,    /* base class */
	PCI_CLASS_VGA = 0x0300,	     /* AMD: with a display; a compute GPU has 0302, 0380 or 12xx */
	PCI_CLASS_PROCESSING = 0x12, /* base class: Instinct since MI300 */
};

const char *const accel_dtype_names[] = {
	[ACCEL_F32] = "f32",   [ACCEL_F64] = "f64", [ACCEL_BF16] = "bf16",
	[ACCEL_TF32] = "tf32", [ACCEL_FP8] = "fp8", NULL,
};

uint64_t accel_mono_us(const struct accel *a UNUSED)
{
	return clock_mono_us();
}

uint64_t accel_mono_ns(const struct accel *a UNUSED)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

size_t accel_dtype_size(enum accel_dtype dtype)
{
	static const size_t sizes[] = {
		[ACCEL_F32] = 4,  [ACCEL_F64] = 8, [ACCEL_BF16] = 2,
		[ACCEL_TF32] = 4, [ACCEL_FP8] = 1,
	};

	return sizes[dtype];
}

int accel_dtype_parse(const char *text, enum accel_dtype *ret)
{
	unsigned i;

	for (i = 0; accel_dtype_names[i]; i++) {
		if (!streq(text, accel_dtype_names[i]))
			continue;
		*ret = (enum accel_dtype)i;
		return 0;
	}
	return -EINVAL;
}

static void leave(int status, void *argument UNUSED)
{
	(void)fflush(NULL);
	_exit(status);
}

void accel_leave_at_once(void)
{
	(void)on_exit(leave, NULL); /* the handler registered last runs first */
}

static bool is_nvidia_gpu(long long vendor, long long class)
{
	return vendor == PCI_VENDOR_NVIDIA && class >> 16 == PCI_CLASS_DISPLAY;
}

static bool is_amd_gpu(long long vendor, long long class)
{
	return vendor == PCI_VENDOR_AMD &&
	       (class >> 16 == PCI_CLASS_PROCESSING ||
		(class >> 16 == PCI_CLASS_DISPLAY && class >> 8 != PCI_CLASS_VGA));
}

static bool is_device(int devices_fd, const char *slot, bool (*is_wanted)(long long, long long))
{
	CLEANUP(freep) char *vendor_path = xasprintf("%s/vendor", slot);
	CLEANUP(freep) char *class_path = xasprintf("%s/class", slot);
	long long vendor = 0, class = 0;

	return file_read_i64(devices_fd, vendor_path, &vendor) == 0 &&
	       file_read_i64(devices_fd, class_path, &class) == 0 && is_wanted(vendor, class);
}

static bool is_there(const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", paths_sysroot(), path);

	return access(full, F_OK) == 0;
}

static bool pci_shows(bool (*is_wanted)(long long vendor, long long class))
{
	int fd = paths_open_sys("/sys/bus/pci/devices");
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return false;
	}
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && is_device(dirfd(dir), entry->d_name, is_wanted);
	(void)closedir(dir);
	return found;
}

bool accel_gpu_present(void)
{
	return pci_shows(is_nvidia_gpu) || is_there("/dev/nvidiactl") ||
	       is_there("/proc/driver/nvidia/version");
}

int accel_check_vendor(struct err *err)
{
	const char *where = is_there("/dev/kfd")    ? "/dev/kfd"
			    : pci_shows(is_amd_gpu) ? "on its PCI bus"
						    : NULL;

	if (!where || accel_gpu_present())
		return 0;
	return err_set(err, ENODEV,
		       "this host has an AMD GPU (%s), which Assay cannot measure; --engine "
		       "cpu measures the CPU cores",
		       where);
}

int accel_choose(const char *name, const struct accel_ops *const *engines,
		 const struct accel_ops **ret, struct err *err)
{
	bool gpu = accel_gpu_present();
	const char *wanted = name;
	size_t i;
	int r = streq(name, "auto") ? accel_check_vendor(err) : 0;

	if (r < 0)
		return r;
	if (streq(name, "auto"))
		wanted = gpu ? "cuda" : "cpu";
	if (!streq(wanted, "cpu") && !streq(wanted, "cuda"))
		return err_set(err, EINVAL, "--engine: '%s' is not auto, cpu or cuda", name);
	if (streq(wanted, "cuda") && !gpu)
		return err_set(err, ENODEV,
			       "no NVIDIA GPU on this host's PCI bus, and no driver for one");
	for (i = 0; engines[i]; i++) {
		if (!streq(engines[i]->name, wanted))
			continue;
		*ret = engines[i];
		return 0;
	}
	return err_set(err, ENOTSUP, "this build has no %s engine%s",
		       streq(wanted, "cuda") ? "CUDA" : "CPU",
		       gpu ? " and this host has a GPU (--engine cpu measures the CPU cores)" : "");
}
