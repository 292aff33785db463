/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer of NCCL's RAS subsystem (VERBOSE STATUS, as JSON or as text) as part of a hung job.
 * Pure.
 *
 * What it can say: how many collectives each rank of a communicator has *launched*, by function;
 * which ranks did not answer. It counts no sends and receives, and knows nothing of what ended.
 *
 * Positions: all ranks of a communicator must launch the same collectives in the same order, so
 * the sum of a rank's counts over all functions is its place in that order: `enqueued` is that
 * sum, 1 being the first, and compares among the ranks of one communicator and with nothing else.
 * (Of text only differing functions are known: the sum then counts from an origin of its own.)
 * Ranks of the same sum and different counts took different collectives in their place: those are
 * put in as operations of that number, one of each rank.
 *
 * Each communicator is a group of its own, "ras:" and its id: its numbers are not those of a
 * flight recorder. Its ranks become global ones where the answer has a communicator of all ranks
 * that numbers the processes known here as they number themselves; else only those processes are
 * placed, and the other members stay HANG_NOBODY.
 *
 * A rank that is missing is never given a position: it is a suspect, said in what the case lacks
 * (hang_case_missing()), as is all that was left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/hang/hang_ras_answer.h"

/* A process of the job on this host. */
struct hang_ras_process {
	int64_t pid;  /* as it knows itself: the last of NSpid in /proc/PID/status */
	int64_t rank; /* global */
};

struct hang_ras_known {
	const char *const *hosts; /* [n_hosts] addresses of this host, as inet_ntop() writes them */
	size_t n_hosts;
	const struct hang_ras_process *processes; /* [n_processes] of the one job that is asked for */
	size_t n_processes;
	int64_t world; /* ranks of the job; HANG_UNKNOWN */
	/* Say nothing of ranks of other hosts, whatever is known of them: for a host's document,
	 * in which every rank has one host that speaks for it (hang_json.h). */
	bool only_known;
};

/* What came of it. */
struct hang_ras_told {
	char version[HANG_RAS_VERSION_SIZE]; /* of NCCL: "2.28.9" */
	size_t taken, strangers, unready;    /* communicators; the last two were left out */
	size_t unplaced;		     /* members whose global rank nobody knows */
	bool text, mended;		     /* as in struct hang_ras_answer */
};

struct hang_case;
struct err;

/*
 * Put what the answer says of one job into `c`. `known` NULL: the answer was kept by a person, and
 * all of it is of the job. Communicators without a process of the job are left out and counted, as
 * are those in which a rank is not running: nothing compares while one is made or taken down.
 *
 * -EINVAL: it is no answer of RAS, with the place; -E2BIG past a limit; -ESRCH: it is of another
 * job altogether. On failure `c` may have a part of it; `ret_told` is left alone.
 */
int hang_ras_read(const char *text, size_t size, const struct hang_ras_known *known,
		  struct hang_case *c, struct hang_ras_told *ret_told, struct err *err);
