/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own prototypes and numbers of CUDA (probes/accel/cuda_abi.h) against the
 * headers of CUDA: the comparison is done when this is compiled. Nothing here
 * links CUDA.
 */
#include <cublasLt.h>
#include <cuda.h>

#define CUDA_ABI_LT_TYPES
typedef cublasLtHandle_t lt_handle;
typedef cublasLtMatmulDesc_t lt_desc;
typedef cublasLtMatrixLayout_t lt_layout;
typedef cublasLtMatmulPreference_t lt_preference;
typedef cublasLtMatmulAlgo_t lt_algo;
typedef cublasLtMatmulHeuristicResult_t lt_heuristic;
#include "probes/accel/cuda_abi.h"
#include "tests/unit/test.h"

#define SAME_TYPE(library, member, symbol)                                              \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&(symbol)),              \
						    __typeof__((library){ 0 }.member)), \
		       #symbol)
#define DRIVER(needed, result, member, symbol, parameters) \
	SAME_TYPE(struct cuda_driver, member, symbol);
#define LT(needed, result, member, symbol, parameters) SAME_TYPE(struct cuda_lt, member, symbol);

CUDA_DRIVER_FUNCTIONS(DRIVER)
CUDA_LT_FUNCTIONS(LT)

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

SAME(CUDA_OK, CUDA_SUCCESS);
SAME(CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(CUDA_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(CUDA_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(CUDA_NVLINK_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(CUDA_PEER_ALREADY, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(CUDA_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(CUDA_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(CUDA_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(CUDA_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN);
SAME(CUDA_ATTRIBUTE_SM_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CUDA_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CUDA_ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CUDA_ATTRIBUTE_DMABUF, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
SAME(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(CUDA_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(CUDA_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(CUDA_HANDLE_DMABUF_FD, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
SAME(CUDA_POINTER_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
SAME(CUDA_UUID_SIZE, sizeof(CUuuid));
SAME(sizeof(cuda_ptr), sizeof(CUdeviceptr));
SAME(LT_OK, CUBLAS_STATUS_SUCCESS);
SAME(LT_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(LT_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
SAME(LT_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE);
SAME(LT_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(LT_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(LT_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(LT_R_32F, CUDA_R_32F);
SAME(LT_R_64F, CUDA_R_64F);
SAME(LT_R_16BF, CUDA_R_16BF);
SAME(LT_R_8F_E4M3, CUDA_R_8F_E4M3);
SAME(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(LT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(LT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(LT_OP_N, CUBLAS_OP_N);
SAME(LT_OP_T, CUBLAS_OP_T);
SAME(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(LT_PREF_MAX_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(LT_CONFIG_ID, CUBLASLT_ALGO_CONFIG_ID);
SAME(LT_CONFIG_TILE, CUBLASLT_ALGO_CONFIG_TILE_ID);
SAME(LT_CONFIG_SPLIT_K, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(LT_CONFIG_REDUCTION, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(LT_CONFIG_SWIZZLE, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
SAME(LT_CONFIG_CUSTOM, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
SAME(LT_CONFIG_STAGES, CUBLASLT_ALGO_CONFIG_STAGES_ID);
SAME(LT_CONFIG_INNER, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
SAME(LT_CONFIG_CLUSTER, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
#define SAME_PLACE(ours, member, theirs, their_member)                       \
	SAME(offsetof(struct ours, member), offsetof(theirs, their_member)); \
	SAME(sizeof(((struct ours){ 0 }).member), sizeof(((theirs){ 0 }).their_member))
SAME(sizeof(struct lt_algo), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(struct lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
SAME_PLACE(lt_heuristic, algo, cublasLtMatmulHeuristicResult_t, algo);
SAME_PLACE(lt_heuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_PLACE(lt_heuristic, state, cublasLtMatmulHeuristicResult_t, state);
SAME_PLACE(lt_heuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount);

/* The newest version of the headers that this was written by; a newer one is no fault. */
static void was_compiled_against_the_headers(void)
{
	CHECK(CUDA_VERSION >= CUDA_DRIVER_MIN);
}

static const struct test tests[] = { TEST(was_compiled_against_the_headers) };

int main(void)
{
	return TEST_MAIN("cuda_abi", tests);
}
