/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NCCL (libnccl.so.2) that this suite uses, declared here so that it can be built
 * without NCCL's header and loaded where the library exists. The list has the form of
 * probes/accel/cuda_abi.h. tests/unit/test_nccl_abi.c compares every line with nccl.h where that
 * exists.
 *
 * Source: nccl.h of NCCL 2.28. The configuration struct is that of 2.14, the first version with
 * non-blocking communicators; later versions still accept it (parseCommConfig() in NCCL's
 * src/init.cc fills in newer members).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;
struct ncclComm;

enum nccl_result {
	NCCL_OK = 0,
	NCCL_CUDA_ERROR = 1,
	NCCL_SYSTEM_ERROR = 2,
	NCCL_INTERNAL_ERROR = 3,
	NCCL_INVALID_ARGUMENT = 4,
	NCCL_INVALID_USAGE = 5,
	NCCL_REMOTE_ERROR = 6,
	NCCL_IN_PROGRESS = 7,
};

enum {
	NCCL_FLOAT32 = 7, /* ncclDataType_t */
	NCCL_SUM = 0,	  /* ncclRedOp_t */
	NCCL_ID_BYTES = 128,
	NCCL_VERSION_MIN = 21400, /* 10000 major + 100 minor + patch */
};

#define NCCL_CONFIG_MAGIC 0xcafebeefU

/* The first members of ncclConfig_t. */
struct nccl_config_2_14 {
	size_t size;
	unsigned magic, version;
	int blocking;
};

struct nccl_id {
	char bytes[NCCL_ID_BYTES];
};

/* The test defines these with the library's own types, to compare the prototypes. */
#ifndef NCCL_ABI_TYPES
typedef struct nccl_id nccl_id;
typedef struct nccl_config_2_14 nccl_config;
#endif

#define NCCL_FUNCTIONS(X)                                                                  \
	X(1, unsigned, get_version, ncclGetVersion, (int *version))                        \
	X(1, unsigned, get_id, ncclGetUniqueId, (nccl_id * id))                            \
	X(1, unsigned, init_rank, ncclCommInitRankConfig,                                  \
	  (struct ncclComm * *comm, int n, nccl_id id, int rank, nccl_config *config))     \
	X(1, unsigned, finalize, ncclCommFinalize, (struct ncclComm * comm))               \
	X(1, unsigned, destroy, ncclCommDestroy, (struct ncclComm * comm))                 \
	X(1, unsigned, abort, ncclCommAbort, (struct ncclComm * comm))                     \
	X(1, unsigned, async_error, ncclCommGetAsyncError,                                 \
	  (struct ncclComm * comm, unsigned *result))                                      \
	X(1, const char *, error_string, ncclGetErrorString, (unsigned result))            \
	X(0, const char *, last_error, ncclGetLastError, (struct ncclComm * comm))         \
	X(1, unsigned, group_start, ncclGroupStart, (void))                                \
	X(1, unsigned, group_end, ncclGroupEnd, (void))                                    \
	X(1, unsigned, send, ncclSend,                                                     \
	  (const void *from, size_t count, unsigned type, int peer, struct ncclComm *comm, \
	   struct CUstream_st *stream))                                                    \
	X(1, unsigned, receive, ncclRecv,                                                  \
	  (void *to, size_t count, unsigned type, int peer, struct ncclComm *comm,         \
	   struct CUstream_st *stream))                                                    \
	X(1, unsigned, all_reduce, ncclAllReduce,                                          \
	  (const void *from, void *to, size_t count, unsigned type, unsigned operation,    \
	   struct ncclComm *comm, struct CUstream_st *stream))                             \
	X(0, unsigned, all_to_all, ncclAlltoAll,                                           \
	  (const void *from, void *to, size_t count, unsigned type, struct ncclComm *comm, \
	   struct CUstream_st *stream))

#define NCCL_ABI_MEMBER(needed, result, member, symbol, parameters) result(*member) parameters;

struct nccl {
	NCCL_FUNCTIONS(NCCL_ABI_MEMBER)
};
