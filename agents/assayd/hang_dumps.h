/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flight recorder dumps that PyTorch has written for a job: the file PREFIX + RANK
 * (TORCH_FR_DUMP_TEMP_FILE + rank) of each rank on this host, in the file system that the rank's
 * process sees.
 *
 * The file is opened below that process's root without following symbolic links. It is used only
 * if it is a regular file with one link, owned by the process's user and written since the
 * process started. An untrusted pickle is only parsed in hang_dumps_print(), in a sandboxed child
 * that runs as that user without privileges (trace_sandbox.h). The output is decoded as untrusted
 * too, and only data of the file's own rank is taken.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct err;
struct hang_case;

enum {
	HANG_DUMPS_FILE_MAX = 64 * 1024 * 1024, /* bytes: 2,000 entries with stacks are 3 MB */
	HANG_DUMPS_TEXT_MAX = 4 * 1024 * 1024,	/* bytes of the child's output */
	HANG_DUMPS_PREFIXES_MAX = 16,
};

/* A rank's process. */
struct hang_dumps_rank {
	int64_t rank;
	int proc_fd; /* of its /proc/PID */
	uid_t uid;
	double began_s; /* when it started, since 1970 */
};

/*
 * Open the rank's newest dump at any of the prefixes ("/tmp/nccl_trace_rank_"; "~/" is the user's
 * home by the /etc/passwd there). -ENOENT: there is none; -EPERM and others with a message: there
 * is one that may not be read.
 */
int hang_dumps_open(const struct hang_dumps_rank *rank, char *const *prefixes, struct stat *ret_st,
		    struct err *err);

/*
 * Parse the dump open at `fd` in a sandboxed child and add it to the case. On error, -errno with
 * a message, and the case is unchanged.
 */
int hang_dumps_add(struct hang_case *c, int fd, const struct hang_dumps_rank *rank, struct err *err);

/*
 * Main function of that child: read the dump from stdin, print a document. Returns the exit
 * status.
 */
int hang_dumps_print(const char *rank);
