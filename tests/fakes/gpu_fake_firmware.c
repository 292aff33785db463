/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's calls for the firmware and modes of a GPU; settings in gpu_fake.h. */
#include <stdio.h>

#include "tests/fakes/gpu_fake_nvml.h"

enum { BAR1_MIB = 131072, VBIOS = 74, VBIOS_ODD = 30 };

unsigned nvmlDeviceGetComputeMode(struct nvml_device *device, unsigned *mode)
{
	*mode = (unsigned)fake_setting("computemode", NVML_COMPUTE_DEFAULT);
	return fake_answer(device);
}

unsigned nvmlDeviceGetVbiosVersion(struct nvml_device *device, char *text, unsigned size)
{
	const long last = fake_is("oddvbios", device->gpu) ? VBIOS_ODD
							   : fake_setting("vbios", VBIOS);

	(void)snprintf(text, size, "%d.00.%02ld.00.01", fake_is_other_model(device) ? 92 : 96, last);
	return fake_answer(device);
}

unsigned nvmlDeviceGetGspFirmwareMode(struct nvml_device *device, unsigned *on, unsigned *usual)
{
	*on = fake_setting("gsp", 1) != 0;
	*usual = 1;
	return fake_answer(device);
}

unsigned nvmlDeviceGetGspFirmwareVersion(struct nvml_device *device, char *text)
{
	(void)snprintf(text, NVML_GSP_VERSION_SIZE, "580.65.06");
	return fake_answer(device);
}

unsigned nvmlDeviceGetInforomImageVersion(struct nvml_device *device, char *text, unsigned size)
{
	(void)snprintf(text, size, "%s", fake_is_other_model(device) ? "G506.0200" : "G520.0200");
	return fake_answer(device);
}

unsigned nvmlDeviceValidateInforom(struct nvml_device *device)
{
	const unsigned result = fake_answer(device);

	return result == NVML_OK && fake_is("badinforom", device->gpu)
		       ? (unsigned)NVML_INFOROM_CORRUPTED
		       : result;
}

unsigned nvmlDeviceGetBAR1MemoryInfo(struct nvml_device *device, struct nvml_bar1 *bar1)
{
	bar1->total = (unsigned long long)fake_setting("bar1", BAR1_MIB) << 20;
	bar1->available = bar1->total;
	bar1->used = 0;
	return fake_answer(device);
}

unsigned nvmlSystemGetConfComputeState(struct nvml_cc *state)
{
	fake_system_call(__func__);
	*state = (struct nvml_cc){ .on = fake_setting("cc", 0) != 0 };
	return NVML_OK;
}
