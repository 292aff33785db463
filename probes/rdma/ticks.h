/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor's own counter of constant rate: rdtsc (Intel SDM 17.17), the
 * generic timer's CNTVCT_EL0 (Arm DDI 0487, D11). Benchmarks of RDMA time by it.
 */
#pragma once

#include <stdint.h>

struct rdma_engine;

extern uint64_t (*const ticks_read)(struct rdma_engine *); /* NULL: it has none */
