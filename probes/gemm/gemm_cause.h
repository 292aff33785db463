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

/*
 * Which factor of a rate is low, by more than this. NVML's clock of a GPU that is held at its power
 * limit is a filtered value, wrong by about 2 % (told by engineers of such hosts, not measured):
 * the limit is the smallest of 3, 4 and 5 at which tests/unit/test_gemm_cause.c gives at most one
 * of 1,000 slow GPUs the wrong one.
 */
enum { GEMM_LOW_PERCENT = 4 };
enum gemm_low { GEMM_LOW_CLOCK = 1, GEMM_LOW_WORK = 2 };

/* Bits of these, 0 when neither is; `rate` and `clock` are parts of those of its peers. */
unsigned gemm_low_of(double rate, double clock, double percent);

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
