/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL as it is found on this host. */
#pragma once

#include "probes/coll/nccl_abi.h"

struct err;

enum { NCCL_VERSION_TEXT_SIZE = 32 };

/* What was loaded; it stays loaded. */
struct nccl_library {
	struct nccl call;
	char version[NCCL_VERSION_TEXT_SIZE]; /* "nccl 2.28.9" */
};

/*
 * Load libnccl.so.2. It is told, in the environment of this process, what a
 * probe needs: an RDMA timeout of seconds (NCCL_IB_TIMEOUT=17), no port of
 * its own beside a job's (NCCL_RAS_ENABLE=0), words on stderr and not between
 * samples. -ENOTSUP with the sentence: missing, broken, or before 2.14.
 */
int nccl_load(struct nccl_library *ret, struct err *err);
