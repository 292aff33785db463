/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host's devices say of a job that stands still, asked in a program of its own
 * (hang_look_main.c): a driver that hangs answers nobody.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/pci_address.h"

#define HANG_DEVICE_NO_GPU (-1)
#define HANG_DEVICE_GPUS (-2) /* more than one: CUDA opens all that it may use */

/*
 * Bytes sent and received by all RDMA ports of the host so far: port_xmit_data and port_rcv_data of
 * /sys/class/infiniband/DEVICE/ports/N/counters, which count words of 4 bytes (InfiniBand
 * Architecture Specification 1, 16.1.3.5). False: no port counts.
 */
bool hang_device_rdma_bytes(uint64_t *ret_bytes);

/* The number of the one /dev/nvidiaN that a process has open, HANG_DEVICE_NO_GPU, HANG_DEVICE_GPUS. */
int hang_device_gpu(int proc_fd);

/* The address of that GPU, "0000:3b:00.0": /proc/driver/nvidia/gpus of NVIDIA's driver. */
bool hang_device_pci(int gpu, char ret[static PCI_ADDRESS_SIZE]);
