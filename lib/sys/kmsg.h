/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the kernel log in the format of /dev/kmsg (Documentation/ABI/testing/dev-kmsg):
 *
 *	priority,sequence,microseconds,flags[,...];text
 *	 KEY=value
 *
 * The device returns one record per read; a file with such lines works too.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

enum { KMSG_RECORD_MAX = 16 * 1024 }; /* the kernel's own limit is 8 KiB */

struct kmsg_record {
	unsigned facility; /* 0: the kernel; others were written by user space */
	unsigned level;	   /* 0 emergency to 7 debug */
	uint64_t sequence;
	uint64_t time_us; /* since boot */
	const char *text; /* printable ASCII; borrowed until the next call */
};

struct kmsg {
	/* Like read(2): bytes, 0 at the end, or -1 with errno. */
	ssize_t (*read)(void *context, void *bytes, size_t n);
	void *context;
	char data[KMSG_RECORD_MAX + 1];
	size_t len;	   /* bytes in `data` */
	size_t used;	   /* bytes of it already returned */
	bool cutting;	   /* inside a record longer than KMSG_RECORD_MAX */
	uint64_t n_bytes;  /* read so far */
	uint64_t overruns; /* reads that found records overwritten (EPIPE) */
};

/* A reader of `fd` (borrowed, non-blocking). */
void kmsg_init(struct kmsg *k, int *fd);

/*
 * The next record; invalid lines are skipped. Returns 1, 0 at the (current) end, or a negative
 * errno.
 */
int kmsg_next(struct kmsg *k, struct kmsg_record *ret_record);

/* Parses one line in place; false if it is not a record. */
bool kmsg_parse(char *line, struct kmsg_record *ret_record);
