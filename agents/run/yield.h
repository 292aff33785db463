/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving way: an active probe is gone and its devices free within two seconds
 * when a job arrives. A job shows itself in three ways: somebody sends SIGUSR1
 * (a prolog), `assay admit` asks (it touches $RUN/yield), or a process that is
 * not ours opens a GPU or RDMA device. All are events on one descriptor.
 */
#pragma once

#include "agents/run/device_users.h"
#include "lib/base/macro.h"

struct err;
struct yield;

/* Begin to watch. What cannot be watched (no right, no device) is left out. */
int yield_open(const char *run_dir, struct yield **ret, struct err *err);
void yield_close(struct yield *y);
DEFINE_CLEANUP(struct yield *, yield_close, yield_closep);

/* Readable when something happened: for poll(). */
int yield_fd(const struct yield *y);

/*
 * Read what happened: true when it is a job, with who in `ret_why` (a clause:
 * "pid 17 (python3) opened /dev/nvidia0"). False: our own probes, or monitors.
 */
enum { YIELD_WHY_SIZE = 192 };
bool yield_check(struct yield *y, char ret_why[static YIELD_WHY_SIZE]);

/* Does somebody use the devices already? The same clause. For before a run. */
bool yield_busy(const struct yield *y, char ret_why[static YIELD_WHY_SIZE]);

/* Tell whoever runs active probes on this host that a job arrives. */
int yield_announce(const char *run_dir, struct err *err);
