/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of the fake NCCL in several processes: they share a file, which one of them creates in the
 * directory ASSAY_FAKE_NCCL_HOSTS and whose name is the id of their group. Nothing blocks. The
 * traffic of each operation is added to port_xmit_data and port_rcv_data in
 * ASSAY_FAKE_NCCL_COUNTERS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fake_hosts;

/* Creates a file. Returns false if no directory was given: a group is then one process. */
bool fake_hosts_begin(char *ret_path, size_t size);

/* Returns NULL if there is no such file, or too many ranks. */
struct fake_hosts *fake_hosts_join(const char *path, int n, int rank);
void fake_hosts_leave(struct fake_hosts *h);

bool fake_hosts_all_here(const struct fake_hosts *h);

/* Starts an all-reduce of this rank; it is complete when fake_hosts_turn() returns true. */
void fake_hosts_put(struct fake_hosts *h, const void *from, void *to, size_t bytes);

/* Makes progress. Returns true if no operation is left. With `damage`, a sum is wrong. */
bool fake_hosts_turn(struct fake_hosts *h, bool damage);
