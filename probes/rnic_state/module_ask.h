/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a module's EEPROM through the kernel: by netlink, otherwise by the older ioctl. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rnic_state/module.h"

/*
 * Read 128 bytes of the module at `netdev`. -EOPNOTSUPP if the older ioctl does not cover that
 * place, otherwise the errno of the driver (-EIO, -EINVAL: no module).
 */
int module_ask(void *context, const char *netdev, const struct module_place *place,
	       uint8_t ret[static MODULE_PART_SIZE]);

/*
 * Offset of a place in the flat data that the ioctl returns for a module of type ETH_MODULE_...; -1
 * if it is not in there. Pure.
 */
int module_flat_offset(uint32_t type, const struct module_place *place);

/*
 * Extract the data from the answer to ETHTOOL_MSG_MODULE_EEPROM_GET of the generic netlink family
 * `family`. -EPROTO, or the errno in the answer. Pure.
 */
int module_answer(const void *bytes, size_t len, uint16_t family,
		  uint8_t ret[static MODULE_PART_SIZE]);

/* Extract the family's number from the answer to CTRL_CMD_GETFAMILY; the same errors. Pure. */
int family_answer(const void *bytes, size_t len, uint16_t *ret_family);
