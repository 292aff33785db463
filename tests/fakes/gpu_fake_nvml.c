/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/gpu_fake_nvml.h"

#include <limits.h>
#include <math.h>
#include <poll.h>
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

unsigned fake_answer_at(const struct nvml_device *device, const char *call)
{
	static bool gone[FAKE_GPUS_MAX];
	static _Atomic long n_late;

	if (fake_setting("lag", 0))
		(void)poll(NULL, 0, (int)fake_setting("lag", 0));
	if (is("lagat", device) && fake_named(call) && n_late++ < fake_setting("lagtimes", LONG_MAX))
		(void)poll(NULL, 0, (int)fake_setting("lagms", 0));
	while ((fake_setting("stuck", 0) || is("held", device)) && fake_may(call))
		(void)pause();
	if (is("reset", device))
		return NVML_RESET_REQUIRED;
	if (is("gone", device) && fake_may(call))
		gone[device->gpu] = true;
	return fake_gpu_is_lost(device->gpu) || gone[device->gpu] ? NVML_GPU_IS_LOST : NVML_OK;
}

void fake_system_call(const char *call)
{
	while (fake_setting("stuck", 0) && fake_named(call))
		(void)pause();
}

#define answer(device, value, ret) (*(ret) = (value), fake_answer(device))

unsigned nvmlInit_v2(void)
{
	unsigned i;

	for (i = 0; i < FAKE_GPUS_MAX; i++)
		devices[i].gpu = i;
	fake_system_call(__func__);
	return (unsigned)fake_setting("nvml", NVML_OK);
}

unsigned nvmlShutdown(void)
{
	fake_system_call(__func__);
	return NVML_OK;
}

/* The strings of the real library. */
const char *nvmlErrorString(unsigned result)
{
	switch (result) {
	case NVML_NO_PERMISSION:
		return "Insufficient Permissions";
	case NVML_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	case NVML_GPU_IS_LOST:
		return "GPU is lost";
	case NVML_RESET_REQUIRED:
		return "GPU requires reset";
	case NVML_VERSION_MISMATCH:
		return "Driver/library version mismatch";
	default:
		return "Unknown Error";
	}
}

unsigned nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	fake_system_call(__func__);
	(void)snprintf(text, size, fake_setting("wide", 0) ? "535.54.03" : "580.65.06");
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
		fake_take_touch(gpu);
		return fake_named(__func__) ? fake_answer(*device) : (unsigned)NVML_OK;
	}
	return 6; /* NVML_ERROR_NOT_FOUND */
}

unsigned nvmlDeviceGetClockInfo(struct nvml_device *device, unsigned type, unsigned *mhz)
{
	double part = fake_heat_of(device->gpu).clock;

	if (fake_gpu_is_boosted(device->gpu))
		part *= 1 + (double)fake_setting("boost", 0) / 100;
	if (fake_gpu_is_held_back(device->gpu))
		part *= 0.9;
	return answer(device, (unsigned)lround(FAKE_CLOCK_MHZ * fake_clock_read(device->gpu, part)),
		      type == NVML_CLOCK_SM ? mhz : &type);
}

unsigned nvmlDeviceGetMaxClockInfo(struct nvml_device *device, unsigned type, unsigned *mhz)
{
	return answer(device, 1980, type == NVML_CLOCK_SM ? mhz : &type);
}

static unsigned long long reasons(const struct nvml_device *device)
{
	static const struct {
		const char *fault;
		unsigned reason;
	} all[] = {
		{ "hot", NVML_REASON_HW_THERMAL },	  { "thirsty", NVML_REASON_SW_POWER_CAP },
		{ "braked", NVML_REASON_HW_POWER_BRAKE }, { "locked", NVML_REASON_APP_CLOCKS },
		{ "warm", NVML_REASON_SW_THERMAL },
	};
	unsigned long long bits = 0;
	size_t i;

	if (fake_setting("idle", 0) || fake_setting("asleep", 0))
		return NVML_REASON_IDLE;
	if (fake_setting("hotaisle", 0))
		bits |= NVML_REASON_SW_THERMAL;
	bits |= fake_heat_of(device->gpu).slowed ? NVML_REASON_SW_THERMAL : 0;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		bits |= is(all[i].fault, device) ? all[i].reason : 0;
	return bits;
}

unsigned nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device,
						   unsigned long long *bits)
{
	*bits = reasons(device);
	return fake_answer(device);
}

unsigned nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *device, unsigned long long *bits)
{
	*bits = reasons(device);
	return fake_answer(device);
}

unsigned nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned *milliwatt)
{
	return answer(device, (unsigned)lround(1e3 * fake_heat_of(device->gpu).power_w), milliwatt);
}

bool fake_is_other_model(const struct nvml_device *device)
{
	return fake_setting("mixed", 0) && device->gpu % 2;
}

unsigned fake_power_mw(const struct nvml_device *device)
{
	return fake_is_other_model(device) ? 400000 : 700000;
}

unsigned nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *device, unsigned *milliwatt)
{
	return answer(device, is("capped", device) ? 500000 : fake_power_mw(device), milliwatt);
}

unsigned nvmlDeviceGetTemperature(struct nvml_device *device, unsigned sensor, unsigned *celsius)
{
	return answer(device, (unsigned)lround(fake_heat_of(device->gpu).gpu_c),
		      sensor ? &sensor : celsius);
}

unsigned nvmlDeviceGetTemperatureThreshold(struct nvml_device *device, unsigned which,
					   unsigned *celsius)
{
	const long memory = fake_setting("memorylimit", 0);
	const unsigned result = answer(device, which == NVML_THRESHOLD_SLOWDOWN ? 90 : 95, celsius);

	if (result != NVML_OK || which != NVML_THRESHOLD_MEMORY_MAX)
		return result;
	*celsius = (unsigned)memory;
	/* Like drivers that report margins: none for the memory. */
	return memory ? NVML_OK : NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetMarginTemperature(struct nvml_device *device, struct nvml_margin *margin)
{
	if (margin->version != NVML_MARGIN_VERSION)
		return NVML_VERSION_WRONG;
	margin->celsius = is("overheated", device) ? -3 : is("hot", device) ? 2 : 29;
	return fake_answer(device);
}

unsigned nvmlDeviceGetEccMode(struct nvml_device *device, unsigned *current, unsigned *pending)
{
	*pending = !is("eccoff", device);
	return answer(device, !is("eccoff", device), current);
}

/* No MIG unless a setting asks for it. */
unsigned nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *current, unsigned *pending)
{
	unsigned result = fake_answer(device);

	*current = *pending = is("mig", device);
	return result != NVML_OK || is("mig", device) ? result : (unsigned)NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetVirtualizationMode(struct nvml_device *device, unsigned *mode)
{
	return answer(device, is("vgpu", device) ? NVML_VIRTUAL_VGPU : 0, mode);
}

unsigned nvmlDeviceGetC2cModeInfoV(struct nvml_device *device, struct nvml_c2c_mode *mode)
{
	return answer(device, fake_setting("c2c", 0) != 0, &mode->enabled);
}

/* Appends to the list, in the layout of the wide=1 driver or of all others. */
static void put_process(struct nvml_process *list, unsigned *n, unsigned pid)
{
	const struct nvml_process one = { .pid = pid, .memory_bytes = 1 << 20 };
	const size_t size = fake_setting("wide", 0) ? sizeof(one) + sizeof(unsigned long long)
						    : sizeof(one);

	memcpy((char *)list + size * *n, &one, sizeof(one));
	(*n)++;
}

unsigned nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device, unsigned *n,
						 struct nvml_process *processes)
{
	unsigned own = fake_setting("foreign", 0) ? 77777 : (unsigned)getpid(), used = 0, i;
	const unsigned many = is("busy", device) ? (unsigned)fake_setting("many", 0) : 0;

	if (*n < many + 2) {
		*n = many + 2;
		return NVML_INSUFFICIENT_SIZE;
	}
	for (i = 0; i < many; i++)
		put_process(processes, &used, 100000 + i);
	if (fake_gpu_has_context(device->gpu))
		put_process(processes, &used, own);
	if (is("busy", device) || fake_gpu_has_worn("comes", device->gpu))
		put_process(processes, &used, (unsigned)fake_setting("pid", 1));
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
