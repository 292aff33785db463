/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Register data of an InfiniBand port of an mlx5 device, in the form that the driver's network
 * device would return: wire counters (PPCNT) and module EEPROM (PMLP, MCIA). Layouts:
 * include/linux/mlx5/mlx5_ifc.h, ppcnt_reg, phys_layer_statistical_cntrs, pmlp_reg, mcia_reg.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/rnic_ports.h"
#include "probes/rnic_state/module.h"

struct nic;
struct nic_stats;

/* Are registers the only source? True for an InfiniBand port of an mlx5 PCI device. */
bool mlx5_register_is_of(const struct port *port);

/*
 * rx_bits_phy, rx_corrected_bits_phy and rx_pcs_symbol_err_phy, as `ethtool -S` of mlx5 names the
 * same counters. Errors are those of nic->read_register().
 */
int mlx5_register_wire(const struct nic *nic, const struct port *port, struct nic_stats *ret);

/* 128 bytes of the port's module. The same errors; -EIO if the module does not answer. */
int mlx5_register_module(const struct nic *nic, const struct port *port,
			 const struct module_place *place, uint8_t ret[static MODULE_PART_SIZE]);
