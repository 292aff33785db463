/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the PCIe link of a GPU ran while copies were on it, by the kernel: an idle
 * one may have slowed down, one under load must not have.
 */
#pragma once

struct gpu_device;

/* Fill `pcie` from sysfs, while copies of it are under way. */
void gpu_link_look(struct gpu_device *d);

/* The part of what it can that the link ran at; NAN: not known, or copies cross none. */
double gpu_link_part(const struct gpu_device *d);
/* Both in words. New memory. */
char *gpu_link_words(const struct gpu_device *d);

/* Whether it was below what both ends can, where that is known. Errors of emit(). */
int gpu_link_emit(const struct gpu_device *d);
