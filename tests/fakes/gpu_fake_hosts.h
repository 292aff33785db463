/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of the fake NCCL in several processes: they meet in a file, which one of them makes in the
 * directory ASSAY_FAKE_NCCL_HOSTS and whose name is the id of their group. Nothing blocks. What
 * an operation moves is added to port_xmit_data and port_rcv_data in ASSAY_FAKE_NCCL_COUNTERS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fake_hosts;

/* Make a file; false: no such directory was given, and a group has one process. */
bool fake_hosts_begin(char *ret_path, size_t size);

/* NULL: there is no such file, or too many ranks. */
struct fake_hosts *fake_hosts_join(const char *path, int n, int rank);
void fake_hosts_leave(struct fake_hosts *h);

bool fake_hosts_all_here(const struct fake_hosts *h);

/* Put an all-reduce of this rank; it is over when fake_hosts_turn() says so. */
void fake_hosts_put(struct fake_hosts *h, const void *from, void *to, size_t bytes);

/* Get on with it: true when it is over, or there is none. With `damage` a sum is wrong. */
bool fake_hosts_turn(struct fake_hosts *h, bool damage);
