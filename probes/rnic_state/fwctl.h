/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers of an mlx5 device by way of its firmware (fwctl, Linux 6.15:
 * Documentation/userspace-api/ fwctl/fwctl.rst, include/uapi/fwctl/fwctl.h), which is what there is
 * to ask where a port has no network device. Only read, in the scope that changes nothing
 * (FWCTL_RPC_DEBUG_READ_ONLY). The command is ACCESS_REGISTER_USER, as its mailbox is laid out in
 * include/linux/mlx5/mlx5_ifc.h (access_register_in, access_register_out) and
 * drivers/fwctl/mlx5/main.c lets it pass. Not tried on hardware.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum { FWCTL_HEAD_SIZE = 16, FWCTL_DATA_MAX = 256 };

/*
 * Read register `id` of the device at `pci` ("0000:1b:00.0"): `data` is what selects a part of it,
 * and becomes its content. -ENODEV without fwctl for it, -EACCES who is not root, -EREMOTEIO when
 * the firmware refuses.
 */
int fwctl_read_register(void *context, const char *pci, uint16_t id, uint8_t *data, size_t size);

/* The command, FWCTL_HEAD_SIZE and `size` bytes. Pure. */
void fwctl_encode(uint16_t id, const uint8_t *data, size_t size, uint8_t *ret);

/* Its answer: 0 and the content, or -EREMOTEIO. Pure. */
int fwctl_decode(const uint8_t *answer, size_t size, uint8_t *ret_data);
