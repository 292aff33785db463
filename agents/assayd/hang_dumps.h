/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps of PyTorch's flight recorder that a job has left: the file PREFIX + RANK (as
 * TORCH_FR_DUMP_TEMP_FILE + rank) of each rank here, as that rank's process sees the file system.
 *
 * It is opened below that process's root, nothing on the way to it or itself is a link, and it
 * counts only as a regular file of one name that belongs to the process's user and was written
 * since the process began. A pickle of a stranger is not read here but by hang_dumps_print(), in a
 * child that is that user without rights and shut in (trace_sandbox.h); what that prints is decoded
 * as the stranger's word that it is, and only its own rank's is taken.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct err;
struct hang_case;

enum {
	HANG_DUMPS_FILE_MAX =
		64 * 1024 * 1024,	       /* bytes: 2,000 entries with their stacks are 3 MB */
	HANG_DUMPS_TEXT_MAX = 4 * 1024 * 1024, /* bytes of what is made of it */
	HANG_DUMPS_PREFIXES_MAX = 16,
};

/* A rank's process. */
struct hang_dumps_rank {
	int64_t rank;
	int proc_fd; /* of its /proc/PID */
	uid_t uid;
	double began_s; /* since 1970 */
};

/*
 * Open the newest dump of the rank at one of the prefixes ("/tmp/nccl_trace_rank_"; "~/" is the
 * home of its user by /etc/passwd there). -ENOENT: there is none; -EPERM and the like with a
 * sentence: there is one that may not be read.
 */
int hang_dumps_open(const struct hang_dumps_rank *rank, char *const *prefixes, struct stat *ret_st,
		    struct err *err);

/*
 * Read the dump open at `fd` in a child that is shut in, and add it to the case. -errno with a
 * sentence, the case being as it was.
 */
int hang_dumps_add(struct hang_case *c, int fd, const struct hang_dumps_rank *rank, struct err *err);

/* In that child: read the dump from standard input, print a document. The exit status. */
int hang_dumps_print(const char *rank);
