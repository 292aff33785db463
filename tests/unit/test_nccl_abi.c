/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our own NCCL prototypes and constants (probes/coll/nccl_abi.h) with
 * its header, at compile time. Nothing here links NCCL.
 */
#include <nccl.h>

#define NCCL_ABI_TYPES
typedef ncclUniqueId nccl_id;
typedef ncclConfig_t nccl_config;
#include "probes/coll/nccl_abi.h"
#include "tests/unit/test.h"

#define SAME_TYPE(needed, result, member, symbol, parameters)                               \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&(symbol)),                  \
						    __typeof__((struct nccl){ 0 }.member)), \
		       #symbol);
NCCL_FUNCTIONS(SAME_TYPE)

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

SAME(NCCL_OK, ncclSuccess);
SAME(NCCL_CUDA_ERROR, ncclUnhandledCudaError);
SAME(NCCL_SYSTEM_ERROR, ncclSystemError);
SAME(NCCL_INTERNAL_ERROR, ncclInternalError);
SAME(NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(NCCL_IN_PROGRESS, ncclInProgress);
SAME(NCCL_FLOAT32, ncclFloat32);
SAME(NCCL_SUM, ncclSum);
SAME(NCCL_ID_BYTES, sizeof(ncclUniqueId));
SAME(sizeof(struct nccl_id), sizeof(ncclUniqueId));
SAME(NCCL_VERSION_MIN, NCCL_VERSION(2, 14, 0));
SAME(offsetof(struct nccl_config_2_14, magic), offsetof(ncclConfig_t, magic));
SAME(offsetof(struct nccl_config_2_14, version), offsetof(ncclConfig_t, version));
SAME(offsetof(struct nccl_config_2_14, blocking), offsetof(ncclConfig_t, blocking));

static void was_compiled_against_the_header(void)
{
	const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	CHECK(NCCL_VERSION_CODE >= NCCL_VERSION_MIN);
	CHECK_EQ(config.magic, NCCL_CONFIG_MAGIC);
}

static const struct test tests[] = { TEST(was_compiled_against_the_header) };

TEST_SUITE(tests);
