/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the NCCL found on this host. */
#pragma once

#include "probes/coll/nccl_abi.h"

struct err;

enum { NCCL_VERSION_TEXT_SIZE = 32 };

/* What was loaded; it is never unloaded. */
struct nccl_library {
	struct nccl call;
	char version[NCCL_VERSION_TEXT_SIZE]; /* "nccl 2.28.9" */
};

/*
 * Load libnccl.so.2, with the settings that a probe needs in the environment of this process: an
 * RDMA timeout of seconds (NCCL_IB_TIMEOUT=17), no listening port that conflicts with a job's
 * (NCCL_RAS_ENABLE=0), messages on stderr and not among the samples. -ENOTSUP with the reason if it
 * is missing, broken, or older than 2.14.
 */
int nccl_load(struct nccl_library *ret, struct err *err);
