/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds an answer of NCCL's RAS subsystem (VERBOSE STATUS, as JSON or text) to the case of a hung
 * job. Pure.
 *
 * RAS knows how many collectives each rank of a communicator has *launched*, by function, and which
 * ranks did not answer. It does not count sends and receives, and knows nothing of what ended.
 *
 * Positions: all ranks of a communicator must launch the same collectives in the same order, so the
 * sum of a rank's counts over all functions is its position in that order. `enqueued` is that sum,
 * 1 being the first, and is comparable only among ranks of one communicator. (Text only has
 * functions that differ: the sum then has an origin of its own.) Ranks with the same sum and
 * different counts launched different collectives: these are added as operations of that number,
 * one per rank.
 *
 * Each communicator is a group of its own, "ras:" and its id, because its numbers differ from those
 * of a flight recorder. Its ranks become global ones if the answer has a communicator of all ranks
 * that numbers the processes known here as they number themselves; else only those processes are
 * placed, and the other members stay HANG_NOBODY.
 *
 * A missing rank never gets a position: it is a suspect, mentioned in what the case lacks
 * (hang_case_missing()), as is everything left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/hang/hang_ras_answer.h"

/* A process of the job on this host. */
struct hang_ras_process {
	int64_t pid;  /* in its own PID namespace: the last of NSpid in /proc/PID/status */
	int64_t rank; /* global */
};

struct hang_ras_known {
	const char *const *hosts; /* [n_hosts] addresses of this host, in the format of inet_ntop() */
	size_t n_hosts;
	const struct hang_ras_process *processes; /* [n_processes] of the job in question */
	size_t n_processes;
	int64_t world; /* ranks of the job; HANG_UNKNOWN */
	/*
	 * Report nothing about ranks of other hosts, whatever is known of them: for a host's
	 * document, in which each rank is reported by one host (hang_json.h).
	 */
	bool only_known;
};

/* The result. */
struct hang_ras_told {
	char version[HANG_RAS_VERSION_SIZE]; /* of NCCL: "2.28.9" */
	size_t taken, strangers, unready;    /* communicators; the last two were left out */
	size_t unplaced;		     /* members with unknown global rank */
	bool text, mended;		     /* as in struct hang_ras_answer */
};

struct hang_case;
struct err;

/*
 * Adds what the answer says of one job to `c`. `known` NULL: the answer was saved by a person, and
 * all of it is about the job. Communicators without a process of the job are left out and counted,
 * as are those with a rank that is not running: nothing is comparable while a communicator is
 * created or destroyed.
 *
 * -EINVAL: not an answer of RAS, with the place; -E2BIG past a limit; -ESRCH: it is about another
 * job altogether. On failure `c` may have part of it; `ret_told` is unchanged.
 */
int hang_ras_read(const char *text, size_t size, const struct hang_ras_known *known,
		  struct hang_case *c, struct hang_ras_told *ret_told, struct err *err);
