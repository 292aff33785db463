/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a GPU is slower than similar ones on this host. Its rate is work per clock cycle times clock.
 * A low clock means throttling, a setting, or silicon variation, as reported by the driver; less
 * work per cycle means a defect or another user. Whether it is too slow is up to the judge, who
 * knows more than this host.
 */
#pragma once

#include "lib/base/macro.h"

struct gemm_device;
struct gemm_run;
struct sample;

/*
 * A factor of the rate is low if it is below its peers' by more than this. NVML's clock of a GPU at
 * its power limit is a filtered value with an error of about 2 % (according to engineers of such
 * hosts, not measured). This is the smallest of 3, 4 and 5 for which tests/unit/test_gemm_cause.c
 * assigns the wrong factor to at most one of 1,000 slow GPUs.
 */
enum { GEMM_LOW_PERCENT = 4 };
enum gemm_low { GEMM_LOW_CLOCK = 1, GEMM_LOW_WORK = 2 };

/* A mask of these, 0 if neither is low; `rate` and `clock` are relative to the peers'. */
unsigned gemm_low_of(double rate, double clock, double percent);

/* Same model and same algorithm, so that results are bit-identical and speeds comparable? */
bool gemm_same_kind(const struct gemm_device *a, const struct gemm_device *b);

/*
 * If a GPU is at least 5 % slower than its peers here, explain why: a word for the sample's code,
 * and text for its note, which the caller frees. Returns false if it is not, or if clocks are
 * unknown.
 */
bool gemm_cause(const struct gemm_run *run, const struct gemm_device *d, const char **ret_code,
		char **ret_words);

/*
 * gemm.host_rate: the rate of the slowest GPU, which all others wait for. Returns false unless all
 * were measured.
 */
bool gemm_host_sample(const struct gemm_run *run, struct sample *ret);
