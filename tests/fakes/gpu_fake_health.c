/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's calls for the health of a GPU; faults in gpu_fake.h. */
#include <math.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "tests/fakes/gpu_fake_nvml.h"

enum {
	INVALID_ARGUMENT = 2,
	LINKS = 18,
	LINKS_OTHER = 12, /* of the other model (mixed=1) */
	DEVICE_ID = 0x233010de,
	DEVICE_ID_OTHER = 0x20b010de,
	FIELD_SW_THERMAL = 269,
	MS_NS = 1000000,
	PSTATE_IDLE = 8,
	BANKS = 640,
	LINK_MB_S = 26562, /* H100, from nvidia-smi nvlink -s; the other is an A100 */
	LINK_MB_S_OTHER = 25000,
	C2C_LINKS = 10,
	C2C_MB_S = 44712, /* GH200, from nvidia-smi c2c -s */
	MEMORY_HOT_C = 95,
};

struct nvml_event_set {
	unsigned n_registered;
	bool told;
};

static struct nvml_event_set events;

static unsigned count_of(void)
{
	return (unsigned)fake_setting("count", 2) - (fake_setting("absent", -1) >= 0);
}

static bool is_persistent(void)
{
	return fake_setting("persistence", !fake_setting("firsttouch", 0)) != 0;
}

/* NVML numbers only the GPUs that are present. */
unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **device)
{
	long absent = fake_setting("absent", -1);
	unsigned gpu = absent >= 0 && index >= (unsigned)absent ? index + 1 : index;

	if (index >= count_of())
		return INVALID_ARGUMENT;
	*device = fake_device(gpu);
	if (fake_is("refused", gpu))
		return NVML_NO_PERMISSION;
	fake_take_touch(gpu);
	if (fake_named(__func__))
		return fake_answer(*device);
	return fake_is("dead", gpu) ? NVML_GPU_IS_LOST : NVML_OK;
}

unsigned nvmlDeviceGetPersistenceMode(struct nvml_device *device, unsigned *on)
{
	*on = is_persistent();
	return fake_answer(device);
}

unsigned nvmlDeviceGetCount_v2(unsigned *n)
{
	fake_system_call(__func__);
	*n = count_of();
	return NVML_OK;
}

/* The board at this address: with swapped=IJ those of GPUs I and J are exchanged. */
static unsigned board_of(const struct nvml_device *device)
{
	const long both = fake_setting("swapped", -1);

	if (both < 0 || (device->gpu != both / 10 && device->gpu != both % 10))
		return device->gpu;
	return (unsigned)(both / 10 + both % 10) - device->gpu;
}

unsigned nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned size)
{
	(void)snprintf(text, size, "GPU-face0000-0000-0000-0000-%012x", board_of(device));
	return fake_answer(device);
}

unsigned nvmlDeviceGetPciInfo_v3(struct nvml_device *device, struct nvml_pci *pci)
{
	*pci = (struct nvml_pci){ .bus = 0x17 + device->gpu,
				  .id = fake_is_other_model(device) ? DEVICE_ID_OTHER : DEVICE_ID };
	(void)snprintf(pci->address, sizeof(pci->address), "00000000:%02X:00.0", pci->bus);
	/* NVML caches it, so it answers even for a lost GPU. */
	return fake_named(__func__) ? fake_answer(device) : (unsigned)NVML_OK;
}

unsigned nvmlDeviceGetSerial(struct nvml_device *device, char *text, unsigned size)
{
	(void)snprintf(text, size, "165%010u", board_of(device));
	return fake_answer(device);
}

/* NVML numbers the modules of a baseboard from 1, not in index order. */
unsigned nvmlDeviceGetModuleId(struct nvml_device *device, unsigned *module)
{
	*module = count_of() - device->gpu;
	return fake_answer(device);
}

unsigned nvmlDeviceGetBoardPartNumber(struct nvml_device *device, char *text, unsigned size)
{
	(void)snprintf(text, size, "900-21001-%04u-000", fake_is_other_model(device) ? 2 : 1);
	return fake_answer(device);
}

/* --- fields ------------------------------------------------------------------------------- */

/* The field that each fault sets to amount=N. */
static const struct {
	const char *fault;
	unsigned field;
	unsigned long long unit;
	bool per_link;
} counted[] = {
	{ "sbe", 3, 1, false },		  { "dbe", 4, 1, false },
	{ "dbe", 6, 1, false },		  { "dbeever", 6, 1, false },
	{ "replay", 94, 1, false },	  { "pciefatal", 180, 1, false },
	{ "thermal", 270, MS_NS, false }, { "swthermal", FIELD_SW_THERMAL, MS_NS, false },
	{ "powercap", 74, MS_NS, false }, { "linkcrc", 163, 1, true },
	{ "linkrecovery", 162, 1, true },
};

/* The ECC counters that are reset when the driver initializes the GPU. */
static bool is_volatile(unsigned field)
{
	return field == 3 || field == 4;
}

static bool is_of_c2c(unsigned field)
{
	return field == NVML_FIELD_C2C_COUNT || field == NVML_FIELD_C2C_STATUS ||
	       field == NVML_FIELD_C2C_SPEED;
}

static bool has_field(unsigned field)
{
	static const unsigned fields[] = { 3,	4,   5,	  6,   74,  76,	 94,  95,  161, 162, 163,
					   169, 173, 174, 179, 180, 181, 183, 230, 269, 270, 271 };
	size_t i = 0;

	while (i < ARRAY_SIZE(fields) && fields[i] != field)
		i++;
	/* An old driver: the caller has to use the separate calls. */
	if (field == NVML_FIELD_LINK_SPEED || field == NVML_FIELD_LINK_POWER ||
	    field == NVML_FIELD_MEMORY_TEMPERATURE)
		return !fake_setting("old", 0);
	if (is_of_c2c(field))
		return fake_setting("c2c", 0) != 0;
	return i < ARRAY_SIZE(fields) &&
	       !(fake_setting("old", 0) &&
		 (field < 7 || field == 94 || (field >= 161 && field <= 163)));
}

/* A link that sleeps or has trained down reports half the speed. */
static unsigned long long link_of(const struct nvml_device *device, unsigned field, unsigned link)
{
	const unsigned long long full = fake_is_other_model(device) ? LINK_MB_S_OTHER : LINK_MB_S;
	const bool sleeps = fake_setting("dozing", 0) != 0;
	const bool slow = fake_is("slowlink", device->gpu) &&
			  ((long)link == fake_setting("link", 3) || fake_setting("all", 0));

	if (field == NVML_FIELD_LINK_POWER)
		return sleeps;
	return slow || sleeps ? full / 2 : full;
}

/* An inactive link has no speed. */
static unsigned long long c2c_of(const struct nvml_device *device, unsigned field, unsigned link)
{
	const bool meant = (long)link == fake_setting("link", 3) || fake_setting("all", 0);
	const bool down = meant && fake_is("c2cdown", device->gpu);
	const bool slow = meant && fake_is("c2cslow", device->gpu);

	if (field == NVML_FIELD_C2C_COUNT)
		return (unsigned long long)fake_setting("c2clinks", C2C_LINKS);
	if (field == NVML_FIELD_C2C_STATUS)
		return !down;
	return down ? 0 : slow ? C2C_MB_S / 2 : C2C_MB_S;
}

static unsigned long long memory_c(const struct nvml_device *device)
{
	if (fake_is("memoryhot", device->gpu) || fake_setting("allhot", 0))
		return MEMORY_HOT_C;
	return (unsigned long long)lround(fake_heat_of(device->gpu).memory_c);
}

static unsigned long long value_of(const struct nvml_device *device, unsigned field, unsigned link)
{
	unsigned long long value = field == 230 && fake_is("recovery", device->gpu)
					   ? (unsigned)fake_setting("action", 1)
					   : 0;
	size_t i;

	if (field == NVML_FIELD_LINK_SPEED || field == NVML_FIELD_LINK_POWER)
		return link_of(device, field, link);
	if (is_of_c2c(field))
		return c2c_of(device, field, link);
	if (field == NVML_FIELD_MEMORY_TEMPERATURE)
		return memory_c(device);
	if (is_volatile(field) && fake_setting("closed", 0) && !is_persistent())
		return 0;
	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		if (counted[i].field == field && fake_is(counted[i].fault, device->gpu) &&
		    (!counted[i].per_link || (long)link == fake_setting("link", 3)))
			value += counted[i].unit * (unsigned long long)fake_setting("amount", 1);
	}
	if (field == FIELD_SW_THERMAL && fake_setting("hotaisle", 0))
		value += MS_NS * (unsigned long long)fake_setting("amount", 1);
	return value;
}

unsigned nvmlDeviceGetFieldValues(struct nvml_device *device, int n, struct nvml_field *fields)
{
	int i;

	for (i = 0; i < n; i++) {
		fields[i].result = has_field(fields[i].id) ? NVML_OK : NVML_NOT_SUPPORTED;
		fields[i].type = NVML_U64;
		fields[i].value.u64 = value_of(device, fields[i].id, fields[i].scope);
		if (fields[i].id == NVML_FIELD_MEMORY_TEMPERATURE || is_of_c2c(fields[i].id))
			fields[i].type = NVML_U32;
	}
	return fake_answer(device);
}

unsigned nvmlDeviceGetTotalEccErrors(struct nvml_device *device, unsigned type, unsigned counter,
				     unsigned long long *errors)
{
	const unsigned first = counter == NVML_ECC_VOLATILE ? 3 : 5; /* + 1: uncorrected */

	*errors = value_of(device, first + (type == NVML_ECC_UNCORRECTED), 0);
	return fake_answer(device);
}

unsigned nvmlDeviceGetNvLinkErrorCounter(struct nvml_device *device, unsigned link,
					 unsigned counter, unsigned long long *value)
{
	static const unsigned fields[] = {
		[NVML_LINK_REPLAY] = 161, [NVML_LINK_RECOVERY] = 162, [NVML_LINK_CRC_FLIT] = 163
	};

	if (counter >= ARRAY_SIZE(fields))
		return INVALID_ARGUMENT;
	*value = value_of(device, fields[counter], link);
	return fake_answer(device);
}

unsigned nvmlDeviceGetPcieReplayCounter(struct nvml_device *device, unsigned *replays)
{
	*replays = (unsigned)value_of(device, 94, 0);
	return fake_answer(device);
}

/* --- numbers ---------------------------------------------------------------------------------- */

unsigned nvmlDeviceGetRemappedRows(struct nvml_device *device, unsigned *corrected,
				   unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
	*corrected = 1;
	*uncorrected = fake_is("rows", device->gpu) ? (unsigned)fake_setting("amount", 1) : 0;
	*pending = fake_is("remappending", device->gpu);
	*failed = fake_is("remapfailed", device->gpu);
	return fake_answer(device);
}

unsigned nvmlDeviceGetRowRemapperHistogram(struct nvml_device *device,
					   struct nvml_spare_rows *values)
{
	*values = (struct nvml_spare_rows){ .max = BANKS };
	if (fake_is("norows", device->gpu)) {
		values->none = (unsigned)fake_setting("amount", 1);
		values->max -= values->none;
	}
	return fake_answer(device);
}

unsigned nvmlDeviceGetRepairStatus(struct nvml_device *device, struct nvml_repair *repair)
{
	if (repair->version != NVML_REPAIR_VERSION)
		return NVML_VERSION_WRONG;
	repair->channel_pending = fake_is("repair", device->gpu);
	repair->tpc_pending = 0;
	return fake_answer(device);
}

unsigned nvmlDeviceGetSramEccErrorStatus(struct nvml_device *device, struct nvml_sram *sram)
{
	if (sram->version != NVML_SRAM_VERSION)
		return NVML_VERSION_WRONG;
	*sram = (struct nvml_sram){ .version = NVML_SRAM_VERSION };
	if (fake_is("sram", device->gpu)) {
		sram->ever_parity = 3;
		sram->ever_sec_ded = 2;
		sram->beyond = 1;
	}
	return fake_answer(device);
}

static bool is_idle(void)
{
	return fake_setting("idle", 0) || fake_setting("asleep", 0);
}

unsigned nvmlDeviceGetPerformanceState(struct nvml_device *device, unsigned *state)
{
	*state = is_idle() ? PSTATE_IDLE : 0;
	return fake_answer(device);
}

/* Idle cards reduce their PCIe link speed; GPUs of a baseboard with switches do not. */
static bool lets_bus_slow_down(void)
{
	return is_idle() && (fake_setting("direct", 0) || fake_setting("unbridged", 0) ||
			     fake_setting("links", LINKS) == 0);
}

unsigned nvmlDeviceGetCurrPcieLinkGeneration(struct nvml_device *device, unsigned *generation)
{
	*generation = fake_is("slowbus", device->gpu) || lets_bus_slow_down() ? 1 : 5;
	return fake_answer(device);
}

unsigned nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *device, unsigned *generation)
{
	*generation = 5;
	return fake_answer(device);
}

unsigned nvmlDeviceGetCurrPcieLinkWidth(struct nvml_device *device, unsigned *lanes)
{
	*lanes = fake_is("narrow", device->gpu) ? 8 : 16;
	return fake_answer(device);
}

unsigned nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *device, unsigned *lanes)
{
	*lanes = 16;
	return fake_answer(device);
}

unsigned nvmlDeviceGetUtilizationRates(struct nvml_device *device,
				       struct nvml_utilization *utilization)
{
	*utilization = (struct nvml_utilization){ .gpu = fake_setting("idle", 0) ? 0 : 97 };
	return fake_answer(device);
}

unsigned nvmlDeviceGetPowerManagementDefaultLimit(struct nvml_device *device, unsigned *milliwatt)
{
	*milliwatt = fake_power_mw(device);
	return fake_answer(device);
}

unsigned nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned link, unsigned *active)
{
	if (link >=
	    (unsigned)fake_setting("links", fake_is_other_model(device) ? LINKS_OTHER : LINKS))
		return INVALID_ARGUMENT;
	*active = !fake_setting("unbridged", 0) &&
		  !(fake_is("linkdown", device->gpu) && (long)link == fake_setting("link", 3));
	return fake_answer(device);
}

unsigned nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *device, unsigned link,
					     unsigned *type)
{
	*type = fake_setting("direct", 0) ? NVML_REMOTE_GPU : NVML_REMOTE_SWITCH;
	return link < (unsigned)fake_setting("links", LINKS) ? fake_answer(device)
							     : (unsigned)INVALID_ARGUMENT;
}

unsigned nvmlDeviceGetGpuFabricInfoV(struct nvml_device *device, struct nvml_fabric *fabric)
{
	if (fabric->version != NVML_FABRIC_VERSION)
		return INVALID_ARGUMENT;
	fabric->state = NVML_FABRIC_COMPLETED;
	fabric->status = NVML_OK;
	fabric->health = 1 << 8 | 2 << 6 | 2 << 4 | 2 << 2 | 2; /* all healthy */
	if (fake_is("fabric", device->gpu))
		fabric->state = (unsigned char)fake_setting("fabricstate", NVML_FABRIC_IN_PROGRESS);
	if (fake_is("unfabric", device->gpu))
		fabric->status = 999; /* NVML_ERROR_UNKNOWN */
	if (fake_is("degraded", device->gpu))
		fabric->health = (fabric->health & ~0x3U) | 1;
	return fake_answer(device);
}

/* --- events ------------------------------------------------------------------------------------- */

unsigned nvmlEventSetCreate(struct nvml_event_set **set)
{
	fake_system_call(__func__);
	*set = &events;
	return NVML_OK;
}

unsigned nvmlDeviceRegisterEvents(struct nvml_device *device, unsigned long long types,
				  struct nvml_event_set *set)
{
	set->n_registered += types == NVML_EVENT_XID;
	return fake_answer(device);
}

/* Delivers one Xid, once all GPUs are registered. */
unsigned nvmlEventSetWait_v2(struct nvml_event_set *set, struct nvml_event *event,
			     unsigned timeout_ms)
{
	long gpu = fake_setting("event", -1);

	fake_system_call(__func__);
	if (fake_named(__func__) && fake_setting("gone", -1) >= 0)
		return NVML_GPU_IS_LOST;
	if (gpu < 0 || set->told || set->n_registered != count_of() || timeout_ms)
		return NVML_TIMEOUT;
	set->told = true;
	*event = (struct nvml_event){ .device = fake_device((unsigned)gpu),
				      .type = NVML_EVENT_XID,
				      .data = (unsigned long long)fake_setting("xid", 79) };
	return NVML_OK;
}

unsigned nvmlEventSetFree(struct nvml_event_set *set)
{
	fake_system_call(__func__);
	set->n_registered = 0;
	return NVML_OK;
}
