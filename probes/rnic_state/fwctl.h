/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads registers of an mlx5 device through its firmware (fwctl, Linux 6.15:
 * Documentation/userspace-api/fwctl/fwctl.rst, include/uapi/fwctl/fwctl.h), for ports without a
 * network device to query. Uses only the read-only scope (FWCTL_RPC_DEBUG_READ_ONLY). The command
 * is ACCESS_REGISTER_USER, which drivers/fwctl/mlx5/main.c permits; its mailbox layout is in
 * include/linux/mlx5/mlx5_ifc.h (access_register_in, access_register_out). Not tested on hardware.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum { FWCTL_HEAD_SIZE = 16, FWCTL_DATA_MAX = 256 };

/*
 * Read register `id` of the device at `pci` ("0000:1b:00.0"). `data` selects a part of it and
 * receives the content. -ENODEV if there is no fwctl device, -EACCES if not root, -EREMOTEIO if the
 * firmware refuses.
 */
int fwctl_read_register(void *context, const char *pci, uint16_t id, uint8_t *data, size_t size);

/* Encode the command: FWCTL_HEAD_SIZE plus `size` bytes. Pure. */
void fwctl_encode(uint16_t id, const uint8_t *data, size_t size, uint8_t *ret);

/* Decode its answer: 0 and the content, or -EREMOTEIO. Pure. */
int fwctl_decode(const uint8_t *answer, size_t size, uint8_t *ret_data);
