/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that are shell scripts, run by the runner of this process. Every
 * process that a probe starts carries a mark in its environment, so that a
 * test can tell whether one is left anywhere on the host.
 */
#pragma once

#include "agents/run/runner.h"
#include "lib/base/clock.h"

/* A sample line for a shell's printf or echo, between single quotes. */
#define SAMPLE_LINE                                                                       \
	"{\"v\":1,\"check\":\"x.rate\",\"subject\":\"cpu:0\",\"value\":2,\"unit\":\"1\"," \
	"\"better\":\"higher\",\"ok\":true,\"state\":\"measured\"}"
#define SAY "echo '" SAMPLE_LINE "'\n"

/* For waits that end at once unless something is broken. */
#define LONG_US (30 * USEC_PER_SEC)

/* Write an executable shell script and return its path; free it. */
char *fixture_script(const char *name, const char *body);

/* Make a FIFO and return a descriptor of both its ends; its path goes into the environment `name`. */
int fixture_fifo(const char *name);

/* Options that wait for nothing: no stop descriptor, no progress, a long deadline. */
struct runner_options fixture_options(void);

/* Run one script as a probe; the report is the caller's. */
void fixture_run(const char *body, uint64_t budget_us, struct report *ret);

/* How many processes carry the mark. */
size_t fixture_alive(void);

/* Wait until none does, at most LONG_US; how many are left. */
size_t fixture_wait_gone(void);

/* How many descriptors this process has open. */
size_t fixture_open_fds(void);
