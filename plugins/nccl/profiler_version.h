/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of NCCL this is, and what may be requested from it: a list of known versions with
 * the findings for each. A version that is not on the list gets no profiler, because a wrong guess
 * could crash somebody's job.
 */
#pragma once

#include <stdint.h>

struct profiler_version {
	uint32_t from, to; /* as in ncclGetVersion(): 22809 */
	uint32_t mask;	   /* events that may be requested; 0: none, `why` says why */
	const char *why;   /* one line; for allowed versions what is left out, or NULL */
};

/*
 * The version of the NCCL library that contains the address `of_nccl`; 0 if unknown. PyTorch loads
 * it where dlsym(RTLD_DEFAULT) does not see it, so that library's own symbols are tried first.
 */
uint32_t profiler_version_of(const void *of_nccl);

/*
 * What is known about a version (0 if unknown); never NULL. With ASSAY_NCCL_ANY_VERSION=1 in the
 * environment, for experiments, an unlisted version is treated like the newest.
 */
const struct profiler_version *profiler_version_find(uint32_t version);
