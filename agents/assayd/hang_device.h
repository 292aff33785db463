/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device state for a hung job, read in a separate process (hang_look_main.c), because a hung
 * driver may block the reader.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/pci_address.h"

#define HANG_DEVICE_NO_GPU (-1)
#define HANG_DEVICE_GPUS (-2) /* more than one: CUDA opens all it may use */

/*
 * Sum of bytes sent and received by all RDMA ports of the host: port_xmit_data and port_rcv_data
 * in /sys/class/infiniband/DEVICE/ports/N/counters, which count words of 4 bytes (InfiniBand
 * Architecture Specification 1, 16.1.3.5). False if no port has counters.
 */
bool hang_device_rdma_bytes(uint64_t *ret_bytes);

/*
 * Number N of the only /dev/nvidiaN that a process has open, or HANG_DEVICE_NO_GPU or
 * HANG_DEVICE_GPUS.
 */
int hang_device_gpu(int proc_fd);

/* PCI address of that GPU, "0000:3b:00.0", from /proc/driver/nvidia/gpus. */
bool hang_device_pci(int gpu, char ret[static PCI_ADDRESS_SIZE]);
