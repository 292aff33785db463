/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of a job says of its place in it: a fixed list of keys of its environment.
 *
 * An environment holds secrets. So it goes by in small pieces, of which only values of these keys
 * are kept, and of those only numbers and plain names; each piece is wiped before the next is read.
 * It is as it was when the process was started: what a program sets later is not seen. It is a
 * claim of the process, and no more.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum {
	PROCESS_ENV_KEYS = 11,
	PROCESS_ENV_TOLD = 9,	     /* of these the controller is told */
	PROCESS_ENV_VALUE_SIZE = 65, /* with its NUL */
	PROCESS_ENV_ENTRY_MAX =
		288, /* bytes of a key, '=' and its value, of which NCCL takes 255 */
	PROCESS_ENV_MAX = 4 * 1024 * 1024, /* bytes of one environment that are looked at */
};

/* In the order of the values. */
extern const char *const process_env_keys[PROCESS_ENV_KEYS];

/* The places of those that are asked for by name. */
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
	PROCESS_ENV_PROFILER = 10 /* a path as its last part */
};

struct process_env {
	char values[PROCESS_ENV_KEYS][PROCESS_ENV_VALUE_SIZE]; /* "": absent, or not of its form */
};

/* Entries that come in pieces. */
struct process_env_reader {
	struct process_env *out;
	char entry[PROCESS_ENV_ENTRY_MAX];
	size_t n;
	bool too_long;
};

/* Begin with an empty `out`, which is borrowed. */
void process_env_begin(struct process_env_reader *reader, struct process_env *out);

/* The next `n` bytes: "KEY=VALUE" with a NUL after each. Of a key twice the first counts. */
void process_env_add(struct process_env_reader *reader, const char *bytes, size_t n);

/* No more come, or it is given up: an entry without its NUL is none. Wipes the reader. */
void process_env_end(struct process_env_reader *reader);

/*
 * Of the process whose /proc/PID is open at `proc_fd`. -EACCES and the like, with what had been
 * read forgotten.
 */
int process_env_read(int proc_fd, struct process_env *ret);
