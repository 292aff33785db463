/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each port is set up: one check a setting, its text in params.setting,
 * from where `assay run` takes it into the `env` of the report and the
 * controller tells who differs from most of the fleet (assayctl drift).
 */
#pragma once

#include "lib/base/macro.h"
#include "probes/rnic_state/dcb.h"
#include "probes/rnic_state/rnic_state.h"

enum { SETTING_TEXT_SIZE = 512 };

/* "3", "0,3", "none": the bits that are set. Pure. */
void say_bits(unsigned bits, char *to, size_t size);

/* "dscp 24:3 26:3 48:6", or "pcp" without a mapping. Pure. */
void say_trust(const struct dcb *dcb, char *to, size_t size);

/* The RDMA MTU that a network device's MTU leaves room for: 256 to 4096, or 0. Pure. */
unsigned rdma_mtu(unsigned long long netdev_mtu);
