/* SPDX-License-Identifier: Apache-2.0 */
/*
 * K of N over the windows of one run of a job: which suspects do enough of them blame? Pure memory
 * without a clock; owned by the caller.
 *
 * Model. A window is what one trace of the run says: when it was, how long, and which sets of hosts
 * it blames (a set is one suspect: a host, both ends of a link, the hosts of one tensor-parallel
 * group). Every synchronous job has a slowest host, so one window proves nothing, and two traces of
 * the same minutes are one. So only windows that are long enough count, and from the newest on only
 * disjoint ones that begin `apart` from each other; of these the last N. A suspect is the same in
 * two windows if its hosts and its class are.
 *
 * Invariants: the answer depends only on the set of windows, not on the order in which they came,
 * nor on the order of suspects in a window or of hosts in a suspect. Beyond SUSPICION_WINDOWS_MAX
 * the oldest windows are dropped. A rejected or failed window does not exist: it neither blames nor
 * clears.
 *
 * A suspect that waits for its tests, or is being tested, is kept: it remains one while any of the
 * last SUSPICION_KEPT_TIMES times N windows blames it, however old they are. A borderline host is
 * blamed by one window and not by the next ones, and a host whose job has ended is blamed by no new
 * one; it would no longer be a suspect when it can finally be tested. One that lapsed in this way
 * and became a suspect again in the same run remains one for as long as its caller keeps it:
 * windows come and go, and only a test can decide.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/policy_jobs.h"
#include "lib/policy/windows.h"

struct err;

enum {
	SUSPICION_WINDOWS_MAX = 128, /* of a run; two hours at one a minute */
	SUSPICION_SUSPECTS_MAX = 3,  /* of a window */
	SUSPICION_KEPT_TIMES = 3,    /* times N; at most POLICY_JOBS_WINDOWS_MAX windows */
	SUSPICION_RECURS = 2,	     /* times that it became a suspect in the run */
	SUSPICION_HOSTS_MAX = 64,    /* of a suspect; more are the job, not a suspect */
	SUSPICION_NAME_MAX = 253,    /* bytes of a host's name */
	SUSPICION_LIST_MAX = POLICY_JOBS_WINDOWS_MAX * SUSPICION_SUSPECTS_MAX,
};

/* A set of hosts that a window blames. */
struct suspicion_suspect {
	const char *const *hosts; /* borrowed, in any order */
	size_t n_hosts;
	int class;	   /* enum blame_class; one that may accuse */
	bool counts;	   /* it passed the tests of a window; others are not kept */
	bool identifiable; /* another host does the same work */
	double share;	   /* of the slowdown; finite */
};

struct suspicion_window {
	int64_t id;		    /* of the window; unique */
	uint64_t from_us, until_us; /* from_us < until_us, by the caller's clock */
	uint64_t steps;
	bool coarse;				  /* timestamps unknown: the time of arrival */
	const struct suspicion_suspect *suspects; /* borrowed */
	size_t n_suspects;
};

struct suspicion_kept;

/* The windows of one run. Zero it before its first use. */
struct suspicion {
	struct suspicion_kept **windows; /* by (from_us, id), oldest first */
	size_t n;
};

void suspicion_release(struct suspicion *s);

/*
 * Adds a window. -EEXIST if its id is already there (nothing changes), -EINVAL with a sentence if
 * it is invalid: it ends before it begins, has too many suspects or hosts, a host without a name or
 * twice in a suspect, a suspect twice, a class that accuses nobody, or a share that is not a
 * number.
 */
int suspicion_add(struct suspicion *s, const struct suspicion_window *window, struct err *err);

/* What the windows say of one set of hosts. Borrowed from the struct suspicion. */
struct suspicion_found {
	const char *const *hosts; /* ascending */
	size_t n_hosts;
	int class;
	int counts;			      /* enum blame_counts; as of now */
	unsigned hits, of;		      /* of the last that count: N, or as many as keep it */
	uint64_t kept_us;		      /* kept until then; 0: not kept */
	struct windows windows;		      /* which ones: bit 0 is the newest */
	int64_t ids[POLICY_JOBS_WINDOWS_MAX]; /* the `hits` that blame it, newest first */
	bool coarse;		    /* not reached without the windows without timestamps */
	bool identifiable;	    /* in each of its windows */
	double share;		    /* in the newest of them */
	uint64_t from_us, until_us; /* start of the oldest, end of the newest of them */
};

struct suspicion_list {
	struct suspicion_found items[SUSPICION_LIST_MAX]; /* most hits, then share, then name */
	size_t n;
	unsigned of; /* windows that count, at most windows.n */
};

/* A suspect to keep, in the run of these windows. Borrowed; hosts in any order. */
struct suspicion_extension {
	const char *const *hosts;
	size_t n_hosts;
	int class;
	uint64_t until_us;
};

/* All suspects to keep. */
struct suspicion_extensions {
	const struct suspicion_extension *items;
	size_t n;
};

/*
 * The suspects that the last N windows blame. A suspect whose newest window ended longer ago than
 * `fresh` has lapsed and is not listed, unless it is kept. Valid until the next suspicion_add().
 * `extensions` may be NULL.
 */
void suspicion_read(const struct suspicion *s, const struct policy_jobs *jobs,
		    const struct suspicion_extensions *extensions, uint64_t now_us,
		    struct suspicion_list *ret);
