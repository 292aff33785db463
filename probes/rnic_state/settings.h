/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port settings: one check per setting, its text in params.setting, which `assay run` copies into
 * `env` of the report, where the controller finds hosts that differ from most of the fleet
 * (assayctl drift).
 */
#pragma once

#include "lib/base/macro.h"
#include "probes/rnic_state/dcb.h"
#include "probes/rnic_state/rnic_state.h"

enum { SETTING_TEXT_SIZE = 512 };

/* The set bits as "3", "0,3" or "none". Pure. */
void say_bits(unsigned bits, char *to, size_t size);

/* "dscp 24:3 26:3 48:6", or "pcp" without a mapping. Pure. */
void say_trust(const struct dcb *dcb, char *to, size_t size);

/* The RDMA MTU that fits into a network device's MTU: 256 to 4096, or 0. Pure. */
unsigned rdma_mtu(unsigned long long netdev_mtu);
