/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a GPU's PCIe link during copies, according to the kernel. An idle link may have
 * slowed down; a link under load must not.
 */
#pragma once

struct gpu_device;

/* Fill in `pcie` from sysfs, while copies are under way. */
void gpu_link_look(struct gpu_device *d);

/* The speed of the link as a fraction of its maximum; NAN: unknown, or copies do not use PCIe. */
double gpu_link_part(const struct gpu_device *d);
/* Current and maximum speed in words. The caller frees the result. */
char *gpu_link_words(const struct gpu_device *d);

/* Emit whether it was below what both ends support, if known. Errors of emit(). */
int gpu_link_emit(const struct gpu_device *d);
