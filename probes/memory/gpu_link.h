/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the PCIe link of a GPU ran while copies were on it, by the kernel: an idle
 * one may have slowed down, one under load must not have.
 */
#pragma once

struct gpu_device;

/* Fill `link` from sysfs, while copies of it are under way. */
void gpu_link_look(struct gpu_device *d);
