/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Yielding to jobs: when a job arrives, an active probe is gone and its devices are free within
 * two seconds. A job is detected in three ways: somebody sends SIGUSR1 (a prolog), `assay admit`
 * touches $RUN/yield, or a process that is not ours opens a GPU or RDMA device. All are events on
 * one descriptor.
 */
#pragma once

#include "agents/run/device_users.h"
#include "lib/base/macro.h"

struct err;
struct yield;

/* Start watching. Sources that cannot be watched (no permission, no device) are left out. */
int yield_open(const char *run_dir, struct yield **ret, struct err *err);
void yield_close(struct yield *y);
DEFINE_CLEANUP(struct yield *, yield_close, yield_closep);

/* Descriptor to poll(): readable when something happened. */
int yield_fd(const struct yield *y);

/*
 * Read the events: true if a job arrived, with the cause in `ret_why` (a clause: "pid 17
 * (python3) opened /dev/nvidia0"). False if it was only our own probes or monitoring programs.
 */
enum { YIELD_WHY_SIZE = 192 };
bool yield_check(struct yield *y, char ret_why[static YIELD_WHY_SIZE]);

/* Are the devices in use already? To be called before a run; `ret_why` as above. */
bool yield_busy(const struct yield *y, char ret_why[static YIELD_WHY_SIZE]);

/* Tell whoever runs active probes on this host that a job arrives. */
int yield_announce(const char *run_dir, struct err *err);
