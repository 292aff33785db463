/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job's process states of its place in the job: a fixed list of environment variables.
 *
 * Environments contain secrets. So it is read in small pieces, each wiped before the next is
 * read, and only the values of these keys are kept, if they are numbers or plain names. It is the
 * environment at exec: variables that the program sets later are not seen. Treat it as a claim of
 * the process.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum {
	PROCESS_ENV_KEYS = 11,
	PROCESS_ENV_TOLD = 9,		   /* the first of these go to the controller */
	PROCESS_ENV_VALUE_SIZE = 65,	   /* including NUL */
	PROCESS_ENV_ENTRY_MAX = 288,	   /* bytes of "KEY=VALUE"; NCCL reads 255 */
	PROCESS_ENV_MAX = 4 * 1024 * 1024, /* bytes read of one environment */
};

/* In the order of `values`. */
extern const char *const process_env_keys[PROCESS_ENV_KEYS];

/* Indexes of keys that are used by name. */
enum {
	PROCESS_ENV_RANK = 0,
	PROCESS_ENV_WORLD = 2,
	PROCESS_ENV_PROCID = 3,
	PROCESS_ENV_SLURM_JOB = 4,
	PROCESS_ENV_SLURM_CLUSTER = 5,
	PROCESS_ENV_SLURM_RESTARTS = 6,
	PROCESS_ENV_JOB = 7,
	PROCESS_ENV_RUN = 8,
	PROCESS_ENV_SHAPE = 9,
	PROCESS_ENV_PROFILER = 10 /* basename of a path */
};

struct process_env {
	char values[PROCESS_ENV_KEYS][PROCESS_ENV_VALUE_SIZE]; /* "": absent or malformed */
};

/* Incremental parser. */
struct process_env_reader {
	struct process_env *out;
	char entry[PROCESS_ENV_ENTRY_MAX];
	size_t n;
	bool too_long;
};

/* `out` is borrowed and emptied. */
void process_env_begin(struct process_env_reader *reader, struct process_env *out);

/*
 * Parse the next `n` bytes: "KEY=VALUE", each NUL-terminated. The first value of a repeated key
 * counts.
 */
void process_env_add(struct process_env_reader *reader, const char *bytes, size_t n);

/* End or abort: drops an entry without its NUL and wipes the reader. */
void process_env_end(struct process_env_reader *reader);

/*
 * Read the environment of the process whose /proc/PID is open at `proc_fd`. On failure (-EACCES
 * etc.) nothing is kept.
 */
int process_env_read(int proc_fd, struct process_env *ret);
