/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our own NVML prototypes, layouts and constants (nvml_abi.h, the last
 * part of cuda_abi.h, the fields of gpu_counter_table.c) with its header, if this
 * machine's CUDA has one; at compile time, except the fields. Nothing here links
 * NVML.
 */
#include <nvml.h>

/* The two that have one name in both. */
#define NVML_CLOCK_SM OUR_CLOCK_SM
#define NVML_TEMPERATURE_GPU OUR_TEMPERATURE_GPU
#include "probes/accel/nvml_abi.h"
#undef NVML_CLOCK_SM
#undef NVML_TEMPERATURE_GPU
#include "probes/gpu_state/gpu_counter_table.h"
#include "tests/unit/test.h"

/* Old drivers have these, and nothing else. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* In a prototype `struct nvml_pci *` becomes the pointer of the library: a type of that name. */
typedef struct nvmlDevice_st nvml_device;
typedef struct nvmlEventSet_st nvml_event_set;
typedef nvmlProcessInfo_t nvml_process;
typedef nvmlPciInfo_t nvml_pci;
typedef nvmlUtilization_t nvml_utilization;
typedef nvmlFieldValue_t nvml_field;
typedef nvmlGpuFabricInfoV_t nvml_fabric;
typedef nvmlMarginTemperature_t nvml_margin;
typedef nvmlEccSramErrorStatus_t nvml_sram;
typedef nvmlRowRemapperHistogramValues_t nvml_spare_rows;
typedef nvmlRepairStatus_t nvml_repair;
typedef nvmlEventData_t nvml_event;
typedef nvmlBAR1Memory_t nvml_bar1;
typedef nvmlConfComputeSystemState_t nvml_cc;
typedef nvmlC2cModeInfo_v1_t nvml_c2c_mode;

#define SAME_TYPE(needed, result, member, symbol, parameters)                               \
	_Static_assert(__builtin_types_compatible_p(__typeof__(symbol), result parameters), \
		       #symbol);
#define struct
CUDA_NVML_FUNCTIONS(SAME_TYPE)
NVML_HEALTH_FUNCTIONS(SAME_TYPE)
#undef struct

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(struct ours), sizeof(theirs))
#define SAME_PLACE(ours, member, theirs, their_member)                       \
	SAME(offsetof(struct ours, member), offsetof(theirs, their_member)); \
	SAME(sizeof(((struct ours){ 0 }).member), sizeof(((theirs){ 0 }).their_member))

SAME(NVML_OK, NVML_SUCCESS);
SAME(NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(NVML_NO_PERMISSION, NVML_ERROR_NO_PERMISSION);
SAME(NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(NVML_TIMEOUT, NVML_ERROR_TIMEOUT);
SAME(NVML_LIBRARY_NOT_FOUND, NVML_ERROR_LIBRARY_NOT_FOUND);
SAME(NVML_FUNCTION_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME(NVML_GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST);
SAME(NVML_RESET_REQUIRED, NVML_ERROR_RESET_REQUIRED);
SAME(NVML_OPERATING_SYSTEM, NVML_ERROR_OPERATING_SYSTEM);
SAME(NVML_VERSION_MISMATCH, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME(NVML_VERSION_WRONG, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
SAME(NVML_GPU_NOT_FOUND, NVML_ERROR_GPU_NOT_FOUND);
SAME(NVML_NVLINKS_MAX, NVML_NVLINK_MAX_LINKS);
SAME(NVML_REMOTE_GPU, NVML_NVLINK_DEVICE_TYPE_GPU);
SAME(NVML_REMOTE_SWITCH, NVML_NVLINK_DEVICE_TYPE_SWITCH);
SAME(NVML_REMOTE_UNKNOWN, NVML_NVLINK_DEVICE_TYPE_UNKNOWN);
SAME(NVML_VIRTUAL_VGPU, NVML_GPU_VIRTUALIZATION_MODE_VGPU);
SAME(NVML_CC_ENABLED, NVML_CC_SYSTEM_FEATURE_ENABLED);
SAME(NVML_EVENT_XID, nvmlEventTypeXidCriticalError);
SAME(NVML_INFOROM_CORRUPTED, NVML_ERROR_CORRUPTED_INFOROM);
SAME(NVML_FIELD_MEMORY_TEMPERATURE, NVML_FI_DEV_MEMORY_TEMP);
SAME(NVML_FIELD_LINK_SPEED, NVML_FI_DEV_NVLINK_GET_SPEED);
SAME(NVML_FIELD_LINK_POWER, NVML_FI_DEV_NVLINK_GET_POWER_STATE);
SAME(NVML_FIELD_C2C_COUNT, NVML_FI_DEV_C2C_LINK_COUNT);
SAME(NVML_FIELD_C2C_STATUS, NVML_FI_DEV_C2C_LINK_GET_STATUS);
SAME(NVML_FIELD_C2C_SPEED, NVML_FI_DEV_C2C_LINK_GET_MAX_BW);
SAME(NVML_COMPUTE_DEFAULT, NVML_COMPUTEMODE_DEFAULT);
SAME(NVML_COMPUTE_EXCLUSIVE_THREAD, NVML_COMPUTEMODE_EXCLUSIVE_THREAD);
SAME(NVML_COMPUTE_PROHIBITED, NVML_COMPUTEMODE_PROHIBITED);
SAME(NVML_COMPUTE_EXCLUSIVE_PROCESS, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME(NVML_GSP_VERSION_SIZE, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
SAME(NVML_FIELD_RECOVERY, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
SAME(NVML_ECC_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME(NVML_ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(NVML_ECC_VOLATILE, NVML_VOLATILE_ECC);
SAME(NVML_ECC_AGGREGATE, NVML_AGGREGATE_ECC);
SAME(NVML_RECOVERY_NONE, NVML_GPU_RECOVERY_ACTION_NONE);
SAME(NVML_RECOVERY_RESET, NVML_GPU_RECOVERY_ACTION_GPU_RESET);
SAME(NVML_RECOVERY_REBOOT, NVML_GPU_RECOVERY_ACTION_NODE_REBOOT);
SAME(NVML_RECOVERY_DRAIN_P2P, NVML_GPU_RECOVERY_ACTION_DRAIN_P2P);
SAME(NVML_RECOVERY_DRAIN_AND_RESET, NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET);
SAME(NVML_RECOVERY_IMEX, NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN);
SAME(NVML_FABRIC_NOT_SUPPORTED, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
SAME(NVML_FABRIC_NOT_STARTED, NVML_GPU_FABRIC_STATE_NOT_STARTED);
SAME(NVML_FABRIC_IN_PROGRESS, NVML_GPU_FABRIC_STATE_IN_PROGRESS);
SAME(NVML_FABRIC_COMPLETED, NVML_GPU_FABRIC_STATE_COMPLETED);
SAME(NVML_THRESHOLD_SLOWDOWN, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
SAME(NVML_THRESHOLD_MEMORY_MAX, NVML_TEMPERATURE_THRESHOLD_MEM_MAX);
SAME(NVML_LINK_REPLAY, NVML_NVLINK_ERROR_DL_REPLAY);
SAME(NVML_LINK_RECOVERY, NVML_NVLINK_ERROR_DL_RECOVERY);
SAME(NVML_LINK_CRC_FLIT, NVML_NVLINK_ERROR_DL_CRC_FLIT);
SAME(NVML_DOUBLE, NVML_VALUE_TYPE_DOUBLE);
SAME(NVML_U32, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(NVML_ULONG, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME(NVML_U64, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME(NVML_S64, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
SAME(NVML_S32, NVML_VALUE_TYPE_SIGNED_INT);
SAME(NVML_U16, NVML_VALUE_TYPE_UNSIGNED_SHORT);
SAME(NVML_REASON_IDLE, nvmlClocksEventReasonGpuIdle);
SAME(NVML_REASON_APP_CLOCKS, nvmlClocksEventReasonApplicationsClocksSetting);
SAME(NVML_REASON_SW_POWER_CAP, nvmlClocksEventReasonSwPowerCap);
SAME(NVML_REASON_HW_SLOWDOWN, nvmlClocksThrottleReasonHwSlowdown);
SAME(NVML_REASON_SYNC_BOOST, nvmlClocksEventReasonSyncBoost);
SAME(NVML_REASON_SW_THERMAL, nvmlClocksEventReasonSwThermalSlowdown);
SAME(NVML_REASON_HW_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(NVML_REASON_HW_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME(NVML_REASON_DISPLAY, nvmlClocksEventReasonDisplayClockSetting);
SAME(NVML_FABRIC_VERSION, nvmlGpuFabricInfo_v2);
SAME(NVML_MARGIN_VERSION, nvmlMarginTemperature_v1);
SAME(NVML_SRAM_VERSION, nvmlEccSramErrorStatus_v1);
SAME(NVML_REPAIR_VERSION, nvmlRepairStatus_v1);
SAME(OUR_CLOCK_SM, NVML_CLOCK_SM);
SAME(OUR_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);

SAME_SIZE(nvml_process, nvmlProcessInfo_t);
SAME_PLACE(nvml_process, pid, nvmlProcessInfo_t, pid);
SAME_PLACE(nvml_process, memory_bytes, nvmlProcessInfo_t, usedGpuMemory);
SAME_SIZE(nvml_c2c_mode, nvmlC2cModeInfo_v1_t);
SAME_PLACE(nvml_c2c_mode, enabled, nvmlC2cModeInfo_v1_t, isC2cEnabled);
SAME_SIZE(nvml_pci, nvmlPciInfo_t);
SAME_PLACE(nvml_pci, id, nvmlPciInfo_t, pciDeviceId);
SAME_PLACE(nvml_pci, address, nvmlPciInfo_t, busId);
SAME_SIZE(nvml_utilization, nvmlUtilization_t);
SAME_PLACE(nvml_utilization, gpu, nvmlUtilization_t, gpu);
SAME_SIZE(nvml_field, nvmlFieldValue_t);
SAME_PLACE(nvml_field, id, nvmlFieldValue_t, fieldId);
SAME_PLACE(nvml_field, scope, nvmlFieldValue_t, scopeId);
SAME_PLACE(nvml_field, type, nvmlFieldValue_t, valueType);
SAME_PLACE(nvml_field, result, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(nvml_field, value, nvmlFieldValue_t, value);
SAME_SIZE(nvml_fabric, nvmlGpuFabricInfo_v2_t);
SAME_PLACE(nvml_fabric, version, nvmlGpuFabricInfo_v2_t, version);
SAME_PLACE(nvml_fabric, status, nvmlGpuFabricInfo_v2_t, status);
SAME_PLACE(nvml_fabric, state, nvmlGpuFabricInfo_v2_t, state);
SAME_PLACE(nvml_fabric, health, nvmlGpuFabricInfo_v2_t, healthMask);
SAME_SIZE(nvml_margin, nvmlMarginTemperature_v1_t);
SAME_PLACE(nvml_margin, celsius, nvmlMarginTemperature_v1_t, marginTemperature);
SAME_SIZE(nvml_sram, nvmlEccSramErrorStatus_v1_t);
SAME_PLACE(nvml_sram, ever_parity, nvmlEccSramErrorStatus_v1_t, aggregateUncParity);
SAME_PLACE(nvml_sram, ever_sec_ded, nvmlEccSramErrorStatus_v1_t, aggregateUncSecDed);
SAME_PLACE(nvml_sram, beyond, nvmlEccSramErrorStatus_v1_t, bThresholdExceeded);
SAME_SIZE(nvml_spare_rows, nvmlRowRemapperHistogramValues_t);
SAME_PLACE(nvml_spare_rows, none, nvmlRowRemapperHistogramValues_t, none);
SAME_SIZE(nvml_repair, nvmlRepairStatus_v1_t);
SAME_PLACE(nvml_repair, channel_pending, nvmlRepairStatus_v1_t, bChannelRepairPending);
SAME_PLACE(nvml_repair, tpc_pending, nvmlRepairStatus_v1_t, bTpcRepairPending);
SAME_SIZE(nvml_bar1, nvmlBAR1Memory_t);
SAME_PLACE(nvml_bar1, total, nvmlBAR1Memory_t, bar1Total);
SAME_SIZE(nvml_cc, nvmlConfComputeSystemState_t);
SAME_PLACE(nvml_cc, on, nvmlConfComputeSystemState_t, ccFeature);
SAME_PLACE(nvml_cc, developer_tools, nvmlConfComputeSystemState_t, devToolsMode);
SAME_SIZE(nvml_event, nvmlEventData_t);
SAME_PLACE(nvml_event, device, nvmlEventData_t, device);
SAME_PLACE(nvml_event, type, nvmlEventData_t, eventType);
SAME_PLACE(nvml_event, data, nvmlEventData_t, eventData);

/* The field of each counter, by its name in the table. */
static const struct {
	const char *check, *name;
	unsigned field;
} fields[] = {
	{ "gpu.ecc_errors", "uncorrected", NVML_FI_DEV_ECC_DBE_VOL_TOTAL },
	{ "gpu.ecc_errors", "uncorrected-before", NVML_FI_DEV_ECC_DBE_AGG_TOTAL },
	{ "gpu.ecc_errors", "corrected", NVML_FI_DEV_ECC_SBE_VOL_TOTAL },
	{ "gpu.throttle", "hw-thermal", NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN },
	{ "gpu.throttle", "power-brake", NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN },
	{ "gpu.throttle", "sw-thermal", NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN },
	{ "gpu.throttle", "sw-power-cap", NVML_FI_DEV_PERF_POLICY_POWER },
	{ "gpu.throttle", "sync-boost", NVML_FI_DEV_PERF_POLICY_SYNC_BOOST },
	{ "gpu.throttle", "board-limit", NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT },
	{ "gpu.throttle", "reliability", NVML_FI_DEV_PERF_POLICY_RELIABILITY },
	{ "gpu.pcie_errors", "replay", NVML_FI_DEV_PCIE_REPLAY_COUNTER },
	{ "gpu.pcie_errors", "replay-rollover", NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER },
	{ "gpu.pcie_errors", "fatal", NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR },
	{ "gpu.pcie_errors", "non-fatal", NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR },
	{ "gpu.pcie_errors", "recovery", NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER },
	{ "gpu.pcie_errors", "correctable", NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS },
	{ "gpu.pcie_errors", "nak-received", NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED },
	{ "gpu.pcie_errors", "nak-sent", NVML_FI_DEV_PCIE_COUNT_NAKS_SENT },
	{ "gpu.pcie_errors", "receiver", NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR },
	{ "gpu.pcie_errors", "bad-tlp", NVML_FI_DEV_PCIE_COUNT_BAD_TLP },
	{ "gpu.pcie_errors", "bad-dllp", NVML_FI_DEV_PCIE_COUNT_BAD_DLLP },
	{ "gpu.pcie_errors", "lcrc", NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR },
	{ "gpu.pcie_errors", "lane", NVML_FI_DEV_PCIE_COUNT_LANE_ERROR },
	{ "gpu.pcie_errors", "unsupported-request", NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ },
	{ "gpu.nvlink_errors", "recovery", NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY },
	{ "gpu.nvlink_errors", "crc", NVML_FI_DEV_NVLINK_ERROR_DL_CRC },
	{ "gpu.nvlink_errors", "replay", NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY },
	{ "gpu.nvlink_errors", "recovery-failed",
	  NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS },
	{ "gpu.nvlink_errors", "recovery-succeeded",
	  NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS },
	{ "gpu.nvlink_errors", "integrity", NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS },
	{ "gpu.nvlink_errors", "overrun", NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS },
	{ "gpu.nvlink_errors", "malformed", NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS },
	{ "gpu.nvlink_errors", "received", NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS },
	{ "gpu.nvlink_errors", "effective", NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS },
	{ "gpu.nvlink_errors", "symbol", NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS },
};

static void every_counter_is_the_field_of_its_name(void)
{
	size_t i, j;

	for (i = 0; i < n_gpu_counter_rows; i++) {
		const struct gpu_counter_row *row = &gpu_counter_rows[i];

		for (j = 0; j < ARRAY_SIZE(fields); j++) {
			if (streq(fields[j].check, row->check) && streq(fields[j].name, row->name))
				break;
		}
		CHECK(j < ARRAY_SIZE(fields));
		if (j < ARRAY_SIZE(fields))
			CHECK_EQ(row->field, fields[j].field);
	}
}

static const struct test tests[] = { TEST(every_counter_is_the_field_of_its_name) };

TEST_SUITE(tests);
