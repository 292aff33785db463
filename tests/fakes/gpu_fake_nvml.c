/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/gpu_fake_nvml.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct nvml_device devices[FAKE_GPUS_MAX];

static bool is(const char *fault, const struct nvml_device *device)
{
	return fake_is(fault, device->gpu);
}

struct nvml_device *fake_device(unsigned gpu)
{
	return &devices[gpu];
}

unsigned fake_answer(const struct nvml_device *device)
{
	while (fake_setting("stuck", 0) || is("held", device))
		(void)pause();
	if (is("reset", device))
		return NVML_RESET_REQUIRED;
	return fake_gpu_is_lost(device->gpu) || is("gone", device) ? NVML_GPU_IS_LOST : NVML_OK;
}

static unsigned answer(const struct nvml_device *device, unsigned value, unsigned *ret)
{
	*ret = value;
	return fake_answer(device);
}

unsigned nvmlInit_v2(void)
{
	unsigned i;

	for (i = 0; i < FAKE_GPUS_MAX; i++)
		devices[i].gpu = i;
	while (fake_setting("stuckinit", 0))
		(void)pause();
	return (unsigned)fake_setting("nvml", NVML_OK);
}

unsigned nvmlShutdown(void)
{
	return NVML_OK;
}

const char *nvmlErrorString(unsigned result)
{
	return result == NVML_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Some Error";
}

unsigned nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	(void)snprintf(text, size, "580.65.06");
	return NVML_OK;
}

unsigned nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **device)
{
	unsigned gpu;

	for (gpu = 0; gpu < FAKE_GPUS_MAX; gpu++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "GPU-face0000-0000-0000-0000-%012x", gpu);
		if (strcmp(text, uuid) != 0)
			continue;
		*device = &devices[gpu];
		return NVML_OK;
	}
	return 6; /* NVML_ERROR_NOT_FOUND */
}

unsigned nvmlDeviceGetClockInfo(struct nvml_device *device, unsigned type, unsigned *mhz)
{
	bool slow = fake_gpu_is_held_back(device->gpu);

	return answer(device, slow ? FAKE_CLOCK_MHZ * 9 / 10 : FAKE_CLOCK_MHZ,
		      type == NVML_CLOCK_SM ? mhz : &type);
}

unsigned nvmlDeviceGetMaxClockInfo(struct nvml_device *device, unsigned type, unsigned *mhz)
{
	return answer(device, 1980, type == NVML_CLOCK_SM ? mhz : &type);
}

unsigned nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device,
						   unsigned long long *bits)
{
	static const struct {
		const char *fault;
		unsigned reason;
	} reasons[] = {
		{ "hot", NVML_REASON_HW_THERMAL },
		{ "thirsty", NVML_REASON_SW_POWER_CAP },
		{ "braked", NVML_REASON_HW_POWER_BRAKE },
		{ "locked", NVML_REASON_APP_CLOCKS },
	};
	size_t i;

	*bits = 0;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		*bits |= is(reasons[i].fault, device) ? reasons[i].reason : 0;
	return fake_answer(device);
}

unsigned nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned *milliwatt)
{
	return answer(device, 650000, milliwatt);
}

unsigned nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *device, unsigned *milliwatt)
{
	return answer(device, is("capped", device) ? 500000 : 700000, milliwatt);
}

unsigned nvmlDeviceGetTemperature(struct nvml_device *device, unsigned sensor, unsigned *celsius)
{
	return answer(device, is("hot", device) ? 88 : 61, sensor ? &sensor : celsius);
}

unsigned nvmlDeviceGetEccMode(struct nvml_device *device, unsigned *current, unsigned *pending)
{
	*pending = !is("eccoff", device);
	return answer(device, !is("eccoff", device), current);
}

/* It has no MIG unless it is asked for. */
unsigned nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *current, unsigned *pending)
{
	*current = *pending = is("mig", device);
	return is("mig", device) ? fake_answer(device) : (unsigned)NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device, unsigned *n,
						 struct nvml_process *processes)
{
	unsigned own = fake_setting("foreign", 0) ? 77777 : (unsigned)getpid(), used = 0;

	if (*n < 2)
		return NVML_INSUFFICIENT_SIZE;
	if (fake_gpu_has_context(device->gpu))
		processes[used++] = (struct nvml_process){ .pid = own };
	if (is("busy", device))
		processes[used++] = (struct nvml_process){ .pid = (unsigned)fake_setting("pid", 1) };
	*n = used;
	return fake_answer(device);
}

unsigned nvmlDeviceGetMPSComputeRunningProcesses_v3(struct nvml_device *device, unsigned *n,
						    struct nvml_process *processes)
{
	bool used = is("client", device);

	if (fake_setting("oldmps", 0))
		return NVML_FUNCTION_NOT_FOUND;
	if (*n < 1)
		return NVML_INSUFFICIENT_SIZE;
	if (used)
		processes[0] = (struct nvml_process){ .pid = (unsigned)fake_setting("pid", 1) + 1 };
	*n = used;
	return fake_answer(device);
}
