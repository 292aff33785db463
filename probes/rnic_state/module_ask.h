/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a module's EEPROM, from the kernel: by netlink, else by the older ioctl. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rnic_state/module.h"

/*
 * 128 bytes of the module at `netdev`. -EOPNOTSUPP when there is no such place
 * in what the older ioctl shows, and the errno of the driver (-EIO, -EINVAL: no module).
 */
int module_ask(void *context, const char *netdev, const struct module_place *place,
	       uint8_t ret[static MODULE_PART_SIZE]);

/*
 * Where a place lies in the one stretch of bytes that the ioctl shows of a
 * module of type ETH_MODULE_...; -1 when it does not. Pure.
 */
int module_flat_offset(uint32_t type, const struct module_place *place);

/*
 * The data in the answer to ETHTOOL_MSG_MODULE_EEPROM_GET of generic netlink
 * family `family`. -EPROTO, or the errno of the answer. Pure.
 */
int module_answer(const void *bytes, size_t len, uint16_t family,
		  uint8_t ret[static MODULE_PART_SIZE]);

/* The number of the family in the answer to CTRL_CMD_GETFAMILY; the same errors. Pure. */
int family_answer(const void *bytes, size_t len, uint16_t *ret_family);
