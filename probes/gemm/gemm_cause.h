/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a GPU is slower than others of its kind on this host: its rate is what it
 * does in a clock cycle times its clock. A low clock is throttling, a setting or
 * the lottery of silicon, as the driver says; less work a cycle is a defect or
 * somebody else. Whether it is too slow is for the judge, who knows more than this host.
 */
#pragma once

#include "lib/base/macro.h"

struct gemm_device;
struct gemm_run;
struct sample;

/* Same model, same way through it: what may be compared in every bit, and in speed. */
bool gemm_same_kind(const struct gemm_device *a, const struct gemm_device *b);

/*
 * Why a GPU that is 5 % slower than its peers here is so: a word for the sample's
 * code and new memory for its note. False when it is not, or when clocks are unknown.
 */
bool gemm_cause(const struct gemm_run *run, const struct gemm_device *d, const char **ret_code,
		char **ret_words);

/* gemm.host_rate: that of the slowest GPU, which all others wait for. False unless all were measured. */
bool gemm_host_sample(const struct gemm_run *run, struct sample *ret);
