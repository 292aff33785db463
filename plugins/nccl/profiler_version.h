/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NCCL this is, and what may be asked of it: a list of versions that are known, each with
 * what was found. What is not on it gets no profiler: the price of a wrong guess is somebody's job.
 */
#pragma once

#include <stdint.h>

struct profiler_version {
	uint32_t from, to; /* as ncclGetVersion() says: 22809 */
	uint32_t mask;	   /* events that may be asked for; 0: none, as `why` says */
	const char *why;   /* one line; of the allowed: what is left out, or NULL */
};

/*
 * The version of the NCCL that `of_nccl`, an address within it, belongs to; 0: it does not say.
 * PyTorch loads it where dlsym(RTLD_DEFAULT) does not see it, so its file is asked first.
 */
uint32_t profiler_version_of(const void *of_nccl);

/*
 * What is known of a version (0: of one that nobody knows); never NULL. With the environment's
 * ASSAY_NCCL_ANY_VERSION=1, for a laboratory, what is not on the list is taken as the newest is.
 */
const struct profiler_version *profiler_version_find(uint32_t version);
