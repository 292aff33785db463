/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an InfiniBand port of an mlx5 device tells by registers, in the form that a network device
 * of the same driver gives: counters of the wire (PPCNT) and bytes of the module (PMLP, MCIA).
 * Their layout is that of include/linux/mlx5/mlx5_ifc.h: ppcnt_reg, phys_layer_statistical_cntrs,
 * pmlp_reg, mcia_reg.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/rnic_ports.h"
#include "probes/rnic_state/module.h"

struct nic;
struct nic_stats;

/* Is there nobody else to ask than the registers? An InfiniBand port of a PCI device. */
bool mlx5_register_is_of(const struct port *port);

/*
 * rx_bits_phy, rx_corrected_bits_phy and rx_pcs_symbol_err_phy, what `ethtool -S` of mlx5 has of
 * the same counters. Errors are those of nic->read_register().
 */
int mlx5_register_wire(const struct nic *nic, const struct port *port, struct nic_stats *ret);

/* 128 bytes of its module. The same errors; -EIO when the module does not answer. */
int mlx5_register_module(const struct nic *nic, const struct port *port,
			 const struct module_place *place, uint8_t ret[static MODULE_PART_SIZE]);
