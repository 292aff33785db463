/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of three NVIDIA libraries that this suite uses, declared here so that it can be built
 * without their headers and started without the libraries: the CUDA driver (libcuda), cuBLASLt and
 * NVML. Each list is
 *
 *	X(needed, result, member, symbol, parameters)
 *
 * with `needed` 0 for what an older library may lack (the member is then NULL). Enumerations are
 * declared as unsigned, as they are in the ABI. tests/unit/test_cuda_abi.c compares every line of
 * the first two with CUDA's headers, if present; NVML's header is not part of CUDA.
 *
 * Sources: cuda.h and cublasLt.h of CUDA 13.0; for NVML the API reference
 * (docs.nvidia.com/deploy/nvml-api) and NVIDIA/go-nvml:gen/nvml/nvml.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* --- libcuda.so.1 --- */

struct CUctx_st;
struct CUevent_st;
struct CUstream_st;
struct CUuuid_st; /* 16 bytes */

typedef unsigned long long cuda_ptr; /* CUdeviceptr: an address in device memory */

enum cuda_result {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_STUB_LIBRARY = 34,
	CUDA_DEVICE_UNAVAILABLE = 46, /* exclusive mode, and in use */
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_ECC_UNCORRECTABLE = 214,
	CUDA_NVLINK_UNCORRECTABLE = 220,
	CUDA_CONTAINED = 226, /* a hardware error, or an invalid access by a peer */
	CUDA_NOT_READY = 600,
	CUDA_ILLEGAL_ADDRESS = 700,
	CUDA_PEER_ALREADY = 704, /* peer access is already enabled */
	CUDA_LAUNCH_TIMEOUT = 702,
	CUDA_HARDWARE_STACK_ERROR = 714,
	CUDA_ILLEGAL_INSTRUCTION = 715,
	CUDA_MISALIGNED_ADDRESS = 716,
	CUDA_INVALID_ADDRESS_SPACE = 717,
	CUDA_INVALID_PC = 718,
	CUDA_LAUNCH_FAILED = 719,
	CUDA_NOT_SUPPORTED = 801,
	CUDA_SYSTEM_NOT_READY = 802, /* the fabric manager is not running */
	CUDA_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_UNKNOWN = 999,
};

enum {
	CUDA_ATTRIBUTE_SM_COUNT = 16,
	CUDA_ATTRIBUTE_MAJOR = 75, /* compute capability */
	CUDA_ATTRIBUTE_MINOR = 76,
	CUDA_ATTRIBUTE_DMABUF = 124,
	CUDA_STREAM_NON_BLOCKING = 1,
	CUDA_EVENT_DEFAULT = 0,
	CUDA_HOST_PORTABLE = 1, /* pinned for all devices */
	CUDA_HANDLE_DMABUF_FD = 1,
	CUDA_POINTER_SYNC_MEMOPS = 6,
	CUDA_UUID_SIZE = 16,
	CUDA_DRIVER_MIN = 11040, /* 1000 major + 10 minor: driver branch 470 */
};

#define CUDA_DRIVER_FUNCTIONS(X)                                                                   \
	X(1, unsigned, init, cuInit, (unsigned flags))                                             \
	X(1, unsigned, driver_version, cuDriverGetVersion, (int *version))                         \
	X(1, unsigned, error_name, cuGetErrorName, (unsigned result, const char **name))           \
	X(1, unsigned, error_string, cuGetErrorString, (unsigned result, const char **text))       \
	X(1, unsigned, device_count, cuDeviceGetCount, (int *n))                                   \
	X(1, unsigned, device_get, cuDeviceGet, (int *device, int ordinal))                        \
	X(1, unsigned, device_name, cuDeviceGetName, (char *name, int size, int device))           \
	X(1, unsigned, device_uuid, cuDeviceGetUuid, (struct CUuuid_st * uuid, int device))        \
	X(1, unsigned, device_pci, cuDeviceGetPCIBusId, (char *bus_id, int size, int device))      \
	X(1, unsigned, device_attribute, cuDeviceGetAttribute,                                     \
	  (int *value, unsigned attribute, int device))                                            \
	X(1, unsigned, device_memory, cuDeviceTotalMem_v2, (size_t * bytes, int device))           \
	X(1, unsigned, ctx_retain, cuDevicePrimaryCtxRetain, (struct CUctx_st * *ctx, int device)) \
	X(1, unsigned, ctx_release, cuDevicePrimaryCtxRelease_v2, (int device))                    \
	X(1, unsigned, ctx_set, cuCtxSetCurrent, (struct CUctx_st * ctx))                          \
	X(1, unsigned, mem_alloc, cuMemAlloc_v2, (cuda_ptr * ptr, size_t size))                    \
	X(1, unsigned, mem_free, cuMemFree_v2, (cuda_ptr ptr))                                     \
	X(1, unsigned, mem_info, cuMemGetInfo_v2, (size_t * available, size_t * total))            \
	X(1, unsigned, host_alloc, cuMemHostAlloc, (void **ptr, size_t size, unsigned flags))      \
	X(1, unsigned, host_free, cuMemFreeHost, (void *ptr))                                      \
	X(1, unsigned, host_register, cuMemHostRegister_v2,                                        \
	  (void *ptr, size_t size, unsigned flags))                                                \
	X(1, unsigned, host_unregister, cuMemHostUnregister, (void *ptr))                          \
	X(1, unsigned, copy_async, cuMemcpyAsync,                                                  \
	  (cuda_ptr to, cuda_ptr from, size_t size, struct CUstream_st * stream))                  \
	X(1, unsigned, stream_create, cuStreamCreate,                                              \
	  (struct CUstream_st * *stream, unsigned flags))                                          \
	X(1, unsigned, stream_destroy, cuStreamDestroy_v2, (struct CUstream_st * stream))          \
	X(1, unsigned, stream_query, cuStreamQuery, (struct CUstream_st * stream))                 \
	X(1, unsigned, event_create, cuEventCreate, (struct CUevent_st * *event, unsigned flags))  \
	X(1, unsigned, event_destroy, cuEventDestroy_v2, (struct CUevent_st * event))              \
	X(1, unsigned, event_record, cuEventRecord,                                                \
	  (struct CUevent_st * event, struct CUstream_st * stream))                                \
	X(1, unsigned, event_query, cuEventQuery, (struct CUevent_st * event))                     \
	X(1, unsigned, event_ms, cuEventElapsedTime,                                               \
	  (float *ms, struct CUevent_st *from, struct CUevent_st *to))                             \
	X(0, unsigned, mem_handle, cuMemGetHandleForAddressRange,                                  \
	  (void *handle, cuda_ptr ptr, size_t size, unsigned type, unsigned long long flags))      \
	X(1, unsigned, can_access, cuDeviceCanAccessPeer, (int *can, int device, int peer))        \
	X(1, unsigned, peer_enable, cuCtxEnablePeerAccess,                                         \
	  (struct CUctx_st * peer, unsigned flags))                                                \
	X(0, unsigned, pointer_set, cuPointerSetAttribute,                                         \
	  (const void *value, unsigned attribute, cuda_ptr ptr))

/* --- libcublasLt.so.N, N is the major version of CUDA --- */

enum { LT_MAJOR_MIN = 11 };

struct lt_handle;
struct lt_desc;
struct lt_layout;
struct lt_preference;
struct lt_algo {
	uint64_t data[8];
};
struct lt_heuristic {
	struct lt_algo algo;
	size_t workspace_bytes;
	unsigned state; /* enum lt_status */
	float waves;
	int reserved[4];
};

/* The test defines these with the library's own types, to compare the prototypes. */
#ifndef CUDA_ABI_LT_TYPES
typedef struct lt_handle *lt_handle;
typedef struct lt_desc *lt_desc;
typedef struct lt_layout *lt_layout;
typedef struct lt_preference *lt_preference;
typedef struct lt_algo lt_algo;
typedef struct lt_heuristic lt_heuristic;
#endif

enum lt_status {
	LT_OK = 0,
	LT_NOT_INITIALIZED = 1,
	LT_ALLOC_FAILED = 3,
	LT_INVALID_VALUE = 7,
	LT_ARCH_MISMATCH = 8,
	LT_EXECUTION_FAILED = 13,
	LT_INTERNAL_ERROR = 14,
	LT_NOT_SUPPORTED = 15,
};

enum {
	LT_R_32F = 0, /* matrix types: cudaDataType */
	LT_R_64F = 1,
	LT_R_16BF = 14,
	LT_R_8F_E4M3 = 28,
	LT_COMPUTE_32F = 68,
	LT_COMPUTE_64F = 70,
	LT_COMPUTE_32F_FAST_TF32 = 77,
	LT_OP_N = 0,
	LT_OP_T = 1,
	LT_DESC_TRANSA = 3,
	LT_PREF_MAX_WORKSPACE = 1,
	LT_CONFIG_ID = 0,
	LT_CONFIG_TILE = 1,
	LT_CONFIG_SPLIT_K = 2,
	LT_CONFIG_REDUCTION = 3,
	LT_CONFIG_SWIZZLE = 4,
	LT_CONFIG_CUSTOM = 5,
	LT_CONFIG_STAGES = 6,
	LT_CONFIG_INNER = 7,   /* 16 bits; since CUDA 11.8 */
	LT_CONFIG_CLUSTER = 8, /* the same */
	LT_REDUCTION_NONE = 0, /* values of LT_CONFIG_REDUCTION */
	LT_REDUCTION_COMPUTE = 2,
};

#define CUDA_LT_FUNCTIONS(X)                                                                       \
	X(1, unsigned, create, cublasLtCreate, (lt_handle * handle))                               \
	X(1, unsigned, destroy, cublasLtDestroy, (lt_handle handle))                               \
	X(1, size_t, version, cublasLtGetVersion, (void))                                          \
	X(1, unsigned, desc_create, cublasLtMatmulDescCreate,                                      \
	  (lt_desc * desc, unsigned compute, unsigned scale))                                      \
	X(1, unsigned, desc_destroy, cublasLtMatmulDescDestroy, (lt_desc desc))                    \
	X(1, unsigned, desc_set, cublasLtMatmulDescSetAttribute,                                   \
	  (lt_desc desc, unsigned attribute, const void *value, size_t size))                      \
	X(1, unsigned, layout_create, cublasLtMatrixLayoutCreate,                                  \
	  (lt_layout * layout, unsigned type, uint64_t rows, uint64_t columns, int64_t leading))   \
	X(1, unsigned, layout_destroy, cublasLtMatrixLayoutDestroy, (lt_layout layout))            \
	X(1, unsigned, preference_create, cublasLtMatmulPreferenceCreate,                          \
	  (lt_preference * preference))                                                            \
	X(1, unsigned, preference_destroy, cublasLtMatmulPreferenceDestroy,                        \
	  (lt_preference preference))                                                              \
	X(1, unsigned, preference_set, cublasLtMatmulPreferenceSetAttribute,                       \
	  (lt_preference preference, unsigned attribute, const void *value, size_t size))          \
	X(1, unsigned, heuristic, cublasLtMatmulAlgoGetHeuristic,                                  \
	  (lt_handle handle, lt_desc desc, lt_layout a, lt_layout b, lt_layout c, lt_layout d,     \
	   lt_preference preference, int wanted, lt_heuristic results[], int *n))                  \
	X(1, unsigned, config, cublasLtMatmulAlgoConfigGetAttribute,                               \
	  (const lt_algo *algo, unsigned attribute, void *value, size_t size, size_t *written))    \
	X(1, unsigned, matmul, cublasLtMatmul,                                                     \
	  (lt_handle handle, lt_desc desc, const void *alpha, const void *a, lt_layout a_layout,   \
	   const void *b, lt_layout b_layout, const void *beta, const void *c, lt_layout c_layout, \
	   void *d, lt_layout d_layout, const lt_algo *algo, void *workspace, size_t size,         \
	   struct CUstream_st *stream))

/* --- libnvidia-ml.so.1 --- */

struct nvml_device; /* borrowed from the library */
struct nvml_field;  /* nvml_abi.h */

enum nvml_result {
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
};

/* What a link connects to: nvmlIntNvLinkDeviceType_t. */
enum { NVML_REMOTE_GPU = 0, NVML_REMOTE_SWITCH = 2, NVML_REMOTE_UNKNOWN = 0xff };

enum {
	NVML_CLOCK_SM = 1,
	NVML_TEMPERATURE_GPU = 0,
	NVML_NVLINKS_MAX = 36 /* NVML_NVLINK_MAX_LINKS */
};

/* Why the clock is below its maximum: nvmlClocksEventReason*. */
enum {
	NVML_REASON_IDLE = 0x1,
	NVML_REASON_APP_CLOCKS = 0x2,
	NVML_REASON_SW_POWER_CAP = 0x4,
	NVML_REASON_HW_SLOWDOWN = 0x8,
	NVML_REASON_SYNC_BOOST = 0x10,
	NVML_REASON_SW_THERMAL = 0x20,
	NVML_REASON_HW_THERMAL = 0x40,
	NVML_REASON_HW_POWER_BRAKE = 0x80,
	NVML_REASON_DISPLAY = 0x100,
};

/* nvmlGpuVirtualizationMode_t: this is what a guest sees of a shared GPU. */
enum { NVML_VIRTUAL_VGPU = 2 };
enum { NVML_CC_ENABLED = 1 }; /* NVML_CC_SYSTEM_FEATURE_ENABLED */

/* Confidential computing, for all GPUs. */
struct nvml_cc { /* nvmlConfComputeSystemState_t */
	unsigned environment, on, developer_tools;
};

struct nvml_c2c_mode { /* nvmlC2cModeInfo_v1_t */
	unsigned enabled;
};

struct nvml_process { /* nvmlProcessInfo_t of _v2 and _v3 */
	unsigned pid;
	unsigned long long memory_bytes;
	unsigned gpu_instance, compute_instance;
};

#define CUDA_NVML_FUNCTIONS(X)                                                                  \
	X(1, unsigned, init, nvmlInit_v2, (void))                                               \
	X(1, unsigned, shutdown, nvmlShutdown, (void))                                          \
	X(1, const char *, error_string, nvmlErrorString, (unsigned result))                    \
	X(1, unsigned, driver_version, nvmlSystemGetDriverVersion, (char *text, unsigned size)) \
	X(1, unsigned, by_uuid, nvmlDeviceGetHandleByUUID,                                      \
	  (const char *uuid, struct nvml_device **device))                                      \
	X(0, unsigned, clock, nvmlDeviceGetClockInfo,                                           \
	  (struct nvml_device * device, unsigned type, unsigned *mhz))                          \
	X(0, unsigned, clock_max, nvmlDeviceGetMaxClockInfo,                                    \
	  (struct nvml_device * device, unsigned type, unsigned *mhz))                          \
	X(0, unsigned, reasons, nvmlDeviceGetCurrentClocksThrottleReasons,                      \
	  (struct nvml_device * device, unsigned long long *bits))                              \
	X(0, unsigned, power, nvmlDeviceGetPowerUsage,                                          \
	  (struct nvml_device * device, unsigned *milliwatt))                                   \
	X(0, unsigned, power_limit, nvmlDeviceGetEnforcedPowerLimit,                            \
	  (struct nvml_device * device, unsigned *milliwatt))                                   \
	X(0, unsigned, temperature, nvmlDeviceGetTemperature,                                   \
	  (struct nvml_device * device, unsigned sensor, unsigned *celsius))                    \
	X(0, unsigned, threshold, nvmlDeviceGetTemperatureThreshold,                            \
	  (struct nvml_device * device, unsigned which, unsigned *celsius))                     \
	X(0, unsigned, fields, nvmlDeviceGetFieldValues,                                        \
	  (struct nvml_device * device, int n, struct nvml_field *fields))                      \
	X(0, unsigned, nvlink, nvmlDeviceGetNvLinkState,                                        \
	  (struct nvml_device * device, unsigned link, unsigned *active))                       \
	X(0, unsigned, nvlink_remote, nvmlDeviceGetNvLinkRemoteDeviceType,                      \
	  (struct nvml_device * device, unsigned link, unsigned *type))                         \
	X(0, unsigned, ecc, nvmlDeviceGetEccMode,                                               \
	  (struct nvml_device * device, unsigned *current, unsigned *pending))                  \
	X(0, unsigned, mig, nvmlDeviceGetMigMode,                                               \
	  (struct nvml_device * device, unsigned *current, unsigned *pending))                  \
	X(0, unsigned, virtual_mode, nvmlDeviceGetVirtualizationMode,                           \
	  (struct nvml_device * device, unsigned *mode))                                        \
	X(0, unsigned, c2c, nvmlDeviceGetC2cModeInfoV,                                          \
	  (struct nvml_device * device, struct nvml_c2c_mode * mode))                           \
	X(0, unsigned, cc, nvmlSystemGetConfComputeState, (struct nvml_cc * state))             \
	X(0, unsigned, processes, nvmlDeviceGetComputeRunningProcesses_v3,                      \
	  (struct nvml_device * device, unsigned *n, struct nvml_process *processes))           \
	X(0, unsigned, mps_clients, nvmlDeviceGetMPSComputeRunningProcesses_v3,                 \
	  (struct nvml_device * device, unsigned *n, struct nvml_process *processes))

/* --- loaded functions --- */

#define CUDA_ABI_MEMBER(needed, result, member, symbol, parameters) result(*member) parameters;

struct cuda_driver {
	CUDA_DRIVER_FUNCTIONS(CUDA_ABI_MEMBER)
};

struct cuda_lt {
	CUDA_LT_FUNCTIONS(CUDA_ABI_MEMBER)
};

struct cuda_nvml {
	CUDA_NVML_FUNCTIONS(CUDA_ABI_MEMBER)
};
