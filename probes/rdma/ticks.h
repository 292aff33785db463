/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor's constant-rate counter: rdtsc (Intel SDM 17.17), or the generic timer's CNTVCT_EL0
 * (Arm DDI 0487, D11). RDMA benchmarks use it for timing.
 */
#pragma once

#include <stdint.h>

struct rdma_engine;

extern uint64_t (*const ticks_read)(struct rdma_engine *); /* NULL: there is none */
