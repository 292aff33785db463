/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that are shell scripts, started by the runner in this process. All
 * their processes have a mark in their environment, so a test can find any that
 * are left on the host.
 */
#pragma once

#include "agents/run/runner.h"
#include "lib/base/clock.h"

/* A sample line for a shell's printf or echo, between single quotes. */
#define SAMPLE_LINE                                                                       \
	"{\"v\":1,\"check\":\"x.rate\",\"subject\":\"cpu:0\",\"value\":2,\"unit\":\"1\"," \
	"\"better\":\"higher\",\"ok\":true,\"state\":\"measured\"}"
#define SAY "echo '" SAMPLE_LINE "'\n"

/* A timeout for waits that end at once unless something is broken. */
#define LONG_US (30 * USEC_PER_SEC)

/* Writes an executable shell script and returns its path. The caller frees it. */
char *fixture_script(const char *name, const char *body);

/* Creates a FIFO and returns a descriptor open for both ends. Sets the environment variable `name`
 * to its path. */
int fixture_fifo(const char *name);

/* Default options: no stop descriptor, no progress, a long deadline. */
struct runner_options fixture_options(void);

/* Runs one script as a probe. The caller releases the report. */
void fixture_run(const char *body, uint64_t budget_us, struct report *ret);

/* Returns the number of processes with the mark. */
size_t fixture_alive(void);

/* Waits until none has it, at most LONG_US. Returns how many are left. */
size_t fixture_wait_gone(void);

/* Returns the number of open descriptors of this process. */
size_t fixture_open_fds(void);
