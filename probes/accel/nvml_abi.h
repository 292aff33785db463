/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rest of NVML that the state of a GPU is read with, in prototypes of our
 * own as in cuda_abi.h. All but the first four may be missing in a driver.
 *
 * Sources: as there; numbers of fields and layouts from NVIDIA/go-nvml:
 * gen/nvml/nvml.h (NVML_FI_DEV_*, nvmlFieldValue_t, nvmlGpuFabricInfo_v2_t).
 */
#pragma once

#include "probes/accel/cuda_abi.h"

enum {
	NVML_EVENT_XID = 0x8,
	NVML_FIELD_MEMORY_TEMPERATURE = 82, /* MEMORY_TEMP; DCGM has it as its field 140 */
	NVML_FIELD_LINK_SPEED = 164,	    /* of the NVLink in its scope: MB/s each way */
	NVML_FIELD_LINK_POWER = 167,	    /* likewise: 0 full speed, 1 asleep */
	NVML_FIELD_C2C_COUNT = 170,
	NVML_FIELD_C2C_STATUS = 171, /* of the link in its scope: 1 active */
	NVML_FIELD_C2C_SPEED = 172,  /* likewise: MB/s (MAX_BW) */
	NVML_FIELD_RECOVERY = 230,   /* GET_GPU_RECOVERY_ACTION */
};

/* What NVML calls errors besides those of cuda_abi.h. */
enum nvml_trouble {
	NVML_NO_PERMISSION = 4,
	NVML_TIMEOUT = 10,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_INFOROM_CORRUPTED = 14,
	NVML_RESET_REQUIRED = 16,
	NVML_OPERATING_SYSTEM = 17, /* its device node is blocked: cgroup */
	NVML_VERSION_MISMATCH = 18, /* of library and kernel driver */
	NVML_VERSION_WRONG = 25,    /* of a struct: this driver has another */
	NVML_GPU_NOT_FOUND = 28,
};

enum {
	NVML_ECC_CORRECTED = 0,
	NVML_ECC_UNCORRECTED = 1,
	NVML_ECC_VOLATILE = 0,
	NVML_ECC_AGGREGATE = 1
};

/* NVML_GPU_RECOVERY_ACTION_* */
enum nvml_recovery {
	NVML_RECOVERY_NONE,
	NVML_RECOVERY_RESET,
	NVML_RECOVERY_REBOOT,
	NVML_RECOVERY_DRAIN_P2P,
	NVML_RECOVERY_DRAIN_AND_RESET,
	NVML_RECOVERY_IMEX,
	NVML_RECOVERIES,
};

/* NVML_GPU_FABRIC_STATE_* */
enum nvml_fabric_state {
	NVML_FABRIC_NOT_SUPPORTED,
	NVML_FABRIC_NOT_STARTED,
	NVML_FABRIC_IN_PROGRESS,
	NVML_FABRIC_COMPLETED,
};

struct nvml_pci { /* nvmlPciInfo_t */
	char legacy[16];
	unsigned domain, bus, device;
	unsigned id; /* device << 16 | vendor */
	unsigned subsystem;
	char address[32]; /* "00000000:1B:00.0" */
};

struct nvml_utilization {
	unsigned gpu, memory; /* percent of the last sample period */
};

/* Types of a field's value: NVML_VALUE_TYPE_* */
enum { NVML_DOUBLE, NVML_U32, NVML_ULONG, NVML_U64, NVML_S64, NVML_S32, NVML_U16 };

union nvml_value {
	double d;
	unsigned u32;
	unsigned long ul;
	unsigned long long u64;
	long long s64;
	int s32;
	unsigned short u16;
};

struct nvml_field { /* nvmlFieldValue_t */
	unsigned id, scope;
	long long timestamp_us, latency_us;
	unsigned type, result;
	union nvml_value value;
};

struct nvml_fabric { /* nvmlGpuFabricInfo_v2_t */
	unsigned version;
	unsigned char cluster[16];
	unsigned status, clique;
	unsigned char state; /* enum nvml_fabric_state */
	unsigned health;     /* bits, each a pair but for the configuration */
};
#define NVML_FABRIC_VERSION ((unsigned)sizeof(struct nvml_fabric) | 2U << 24)

/* Room to the temperature at which the hardware slows down; below 0: beyond it. */
struct nvml_margin { /* nvmlMarginTemperature_v1_t */
	unsigned version;
	int celsius;
};
#define NVML_MARGIN_VERSION ((unsigned)sizeof(struct nvml_margin) | 1U << 24)

enum { NVML_THRESHOLD_SLOWDOWN = 1, NVML_THRESHOLD_MEMORY_MAX = 2 };

/* nvmlComputeMode_t */
enum nvml_compute {
	NVML_COMPUTE_DEFAULT,
	NVML_COMPUTE_EXCLUSIVE_THREAD,
	NVML_COMPUTE_PROHIBITED,
	NVML_COMPUTE_EXCLUSIVE_PROCESS,
	NVML_COMPUTES,
};

/* The part of its memory that the bus can see. */
struct nvml_bar1 { /* nvmlBAR1Memory_t */
	unsigned long long total, available, used;
};

enum { NVML_GSP_VERSION_SIZE = 64 }; /* NVML_GSP_FIRMWARE_VERSION_BUF_SIZE */

/* Errors of the memory on the chip itself; `ever`: since it was made. */
struct nvml_sram { /* nvmlEccSramErrorStatus_v1_t */
	unsigned version;
	unsigned long long ever_parity, ever_sec_ded, ever_corrected;
	unsigned long long parity, sec_ded, corrected; /* since the driver was loaded */
	unsigned long long ever_l2, ever_sm, ever_pcie, ever_mcu, ever_other;
	unsigned beyond; /* 1: beyond the threshold at which NVIDIA's diagnostic fails */
};
#define NVML_SRAM_VERSION ((unsigned)sizeof(struct nvml_sram) | 1U << 24)

/* How many banks of memory have so many spare rows left. */
struct nvml_spare_rows { /* nvmlRowRemapperHistogramValues_t */
	unsigned max, high, partial, low, none;
};

struct nvml_repair { /* nvmlRepairStatus_v1_t */
	unsigned version;
	unsigned channel_pending, tpc_pending; /* 1: waits for a reset */
};
#define NVML_REPAIR_VERSION ((unsigned)sizeof(struct nvml_repair) | 1U << 24)

/* nvmlNvLinkErrorCounter_t */
enum { NVML_LINK_REPLAY = 0, NVML_LINK_RECOVERY = 1, NVML_LINK_CRC_FLIT = 2 };

struct nvml_event_set;

struct nvml_event { /* nvmlEventData_t */
	struct nvml_device *device;
	unsigned long long type, data; /* data: the Xid */
	unsigned gpu_instance, compute_instance;
};

#define NVML_HEALTH_FUNCTIONS(X)                                                                \
	X(1, unsigned, count, nvmlDeviceGetCount_v2, (unsigned *n))                             \
	X(1, unsigned, by_index, nvmlDeviceGetHandleByIndex_v2,                                 \
	  (unsigned index, struct nvml_device **device))                                        \
	X(1, unsigned, uuid, nvmlDeviceGetUUID,                                                 \
	  (struct nvml_device * device, char *text, unsigned size))                             \
	X(1, unsigned, pci, nvmlDeviceGetPciInfo_v3,                                            \
	  (struct nvml_device * device, struct nvml_pci * pci))                                 \
	X(0, unsigned, persistence, nvmlDeviceGetPersistenceMode,                               \
	  (struct nvml_device * device, unsigned *on))                                          \
	X(0, unsigned, ecc_total, nvmlDeviceGetTotalEccErrors,                                  \
	  (struct nvml_device * device, unsigned type, unsigned counter,                        \
	   unsigned long long *errors))                                                         \
	X(0, unsigned, remapped, nvmlDeviceGetRemappedRows,                                     \
	  (struct nvml_device * device, unsigned *corrected, unsigned *uncorrected,             \
	   unsigned *pending, unsigned *failed))                                                \
	X(0, unsigned, replays, nvmlDeviceGetPcieReplayCounter,                                 \
	  (struct nvml_device * device, unsigned *replays))                                     \
	X(0, unsigned, pcie_speed, nvmlDeviceGetCurrPcieLinkGeneration,                         \
	  (struct nvml_device * device, unsigned *generation))                                  \
	X(0, unsigned, pcie_speed_max, nvmlDeviceGetMaxPcieLinkGeneration,                      \
	  (struct nvml_device * device, unsigned *generation))                                  \
	X(0, unsigned, pcie_width, nvmlDeviceGetCurrPcieLinkWidth,                              \
	  (struct nvml_device * device, unsigned *lanes))                                       \
	X(0, unsigned, pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth,                           \
	  (struct nvml_device * device, unsigned *lanes))                                       \
	X(0, unsigned, utilization, nvmlDeviceGetUtilizationRates,                              \
	  (struct nvml_device * device, struct nvml_utilization * utilization))                 \
	X(0, unsigned, power_default, nvmlDeviceGetPowerManagementDefaultLimit,                 \
	  (struct nvml_device * device, unsigned *milliwatt))                                   \
	X(0, unsigned, fabric, nvmlDeviceGetGpuFabricInfoV,                                     \
	  (struct nvml_device * device, struct nvml_fabric * fabric))                           \
	X(0, unsigned, event_reasons, nvmlDeviceGetCurrentClocksEventReasons,                   \
	  (struct nvml_device * device, unsigned long long *bits))                              \
	X(0, unsigned, pstate, nvmlDeviceGetPerformanceState,                                   \
	  (struct nvml_device * device, unsigned *state))                                       \
	X(0, unsigned, serial, nvmlDeviceGetSerial,                                             \
	  (struct nvml_device * device, char *text, unsigned size))                             \
	X(0, unsigned, module, nvmlDeviceGetModuleId,                                           \
	  (struct nvml_device * device, unsigned *module))                                      \
	X(0, unsigned, part_number, nvmlDeviceGetBoardPartNumber,                               \
	  (struct nvml_device * device, char *text, unsigned size))                             \
	X(0, unsigned, margin, nvmlDeviceGetMarginTemperature,                                  \
	  (struct nvml_device * device, struct nvml_margin * margin))                           \
	X(0, unsigned, sram, nvmlDeviceGetSramEccErrorStatus,                                   \
	  (struct nvml_device * device, struct nvml_sram * sram))                               \
	X(0, unsigned, spare_rows, nvmlDeviceGetRowRemapperHistogram,                           \
	  (struct nvml_device * device, struct nvml_spare_rows * values))                       \
	X(0, unsigned, compute_mode, nvmlDeviceGetComputeMode,                                  \
	  (struct nvml_device * device, unsigned *mode))                                        \
	X(0, unsigned, vbios, nvmlDeviceGetVbiosVersion,                                        \
	  (struct nvml_device * device, char *text, unsigned size))                             \
	X(0, unsigned, gsp_mode, nvmlDeviceGetGspFirmwareMode,                                  \
	  (struct nvml_device * device, unsigned *on, unsigned *usual))                         \
	X(0, unsigned, gsp_version, nvmlDeviceGetGspFirmwareVersion,                            \
	  (struct nvml_device * device, char *text))                                            \
	X(0, unsigned, inforom_version, nvmlDeviceGetInforomImageVersion,                       \
	  (struct nvml_device * device, char *text, unsigned size))                             \
	X(0, unsigned, inforom_check, nvmlDeviceValidateInforom, (struct nvml_device * device)) \
	X(0, unsigned, bar1, nvmlDeviceGetBAR1MemoryInfo,                                       \
	  (struct nvml_device * device, struct nvml_bar1 * bar1))                               \
	X(0, unsigned, repair, nvmlDeviceGetRepairStatus,                                       \
	  (struct nvml_device * device, struct nvml_repair * repair))                           \
	X(0, unsigned, link_errors, nvmlDeviceGetNvLinkErrorCounter,                            \
	  (struct nvml_device * device, unsigned link, unsigned counter,                        \
	   unsigned long long *value))                                                          \
	X(0, unsigned, event_set, nvmlEventSetCreate, (struct nvml_event_set * *set))           \
	X(0, unsigned, event_register, nvmlDeviceRegisterEvents,                                \
	  (struct nvml_device * device, unsigned long long types, struct nvml_event_set *set))  \
	X(0, unsigned, event_wait, nvmlEventSetWait_v2,                                         \
	  (struct nvml_event_set * set, struct nvml_event * event, unsigned timeout_ms))        \
	X(0, unsigned, event_free, nvmlEventSetFree, (struct nvml_event_set * set))

struct nvml_health_calls {
	NVML_HEALTH_FUNCTIONS(CUDA_ABI_MEMBER)
};

/* All of NVML. */
struct nvml_calls {
	struct cuda_nvml base;
	struct nvml_health_calls health;
};
