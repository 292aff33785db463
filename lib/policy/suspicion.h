/* SPDX-License-Identifier: Apache-2.0 */
/*
 * K of N over the windows of one run of a job: whom do enough of them blame? Pure memory without a
 * clock; the caller owns it.
 *
 * Model. A window is what one trace of the run says: when it was, how long, and which sets of hosts
 * it blames (a set is one suspect: a host, both ends of a link, the hosts of one tensor-parallel
 * group). Every synchronous job has a slowest host, so one window proves nothing; and two traces
 * of the same minutes are one. So of the windows that are long enough, from the newest on, those
 * count that are disjoint and begin `apart` from each other, the last N of them. A suspect is
 * the same in two windows when its hosts and its class are.
 *
 * Invariants: the answer depends on the set of windows alone, not on the order in which they came,
 * nor on the order of suspects in a window or of hosts in a suspect; more windows than
 * SUSPICION_WINDOWS_MAX drop the oldest. A window that is rejected or failed is none: it neither
 * blames nor clears.
 *
 * A suspect that waits for its tests, or is tested, is kept: it stays one for as long as any of the
 * last SUSPICION_KEPT_TIMES times N windows blames it, however old they are. A host on the edge is
 * blamed by one window and not by the next ones, and one whose job has ended is blamed by no new
 * one: it would be no suspect when it can be tested at last. One that lapsed so and became one
 * again in the same run stays one as long as its caller keeps it: windows come and go, and only a
 * test can tell what they do not.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/policy_jobs.h"
#include "lib/policy/windows.h"

struct err;

enum {
	SUSPICION_WINDOWS_MAX = 128, /* of a run; at one a minute two hours */
	SUSPICION_SUSPECTS_MAX = 3,  /* of a window */
	SUSPICION_KEPT_TIMES = 3,    /* N; not beyond POLICY_JOBS_WINDOWS_MAX windows */
	SUSPICION_RECURS = 2,	     /* times that it became one in the run */
	SUSPICION_HOSTS_MAX = 64,    /* of a suspect: more are no suspect but the job */
	SUSPICION_NAME_MAX = 253,    /* bytes of a host's name */
	SUSPICION_LIST_MAX = POLICY_JOBS_WINDOWS_MAX * SUSPICION_SUSPECTS_MAX,
};

/* A set of hosts as a window blames it. */
struct suspicion_suspect {
	const char *const *hosts; /* borrowed, in any order */
	size_t n_hosts;
	int class;	   /* enum blame_class; of those that may accuse */
	bool counts;	   /* it passed the tests of one window; others are not kept */
	bool identifiable; /* another host does the same work */
	double share;	   /* of the slowdown; finite */
};

struct suspicion_window {
	int64_t id;		    /* of the window; no two are equal */
	uint64_t from_us, until_us; /* from_us < until_us, by the caller's clock */
	uint64_t steps;
	bool coarse; /* the caller does not know when it was: by when it came */
	const struct suspicion_suspect *suspects; /* borrowed */
	size_t n_suspects;
};

struct suspicion_kept;

/* The windows of one run. Zero it before its first use. */
struct suspicion {
	struct suspicion_kept **windows; /* by (from_us, id), the oldest first */
	size_t n;
};

void suspicion_release(struct suspicion *s);

/*
 * One more window. -EEXIST when its id is there (nothing changes), -EINVAL with a sentence when it
 * is none: it ends before it begins, has too many suspects or hosts, a host without a name or twice
 * in a suspect, a suspect twice, a class that accuses nobody, a share that is not a number.
 */
int suspicion_add(struct suspicion *s, const struct suspicion_window *window, struct err *err);

/* What the windows say of one set of hosts. Borrowed from the struct suspicion. */
struct suspicion_found {
	const char *const *hosts; /* ascending */
	size_t n_hosts;
	int class;
	int counts;			      /* enum blame_counts; as of now */
	unsigned hits, of;		      /* of the last that count: N, or as many as keep it */
	uint64_t kept_us;		      /* it is kept until then; 0: not */
	struct windows windows;		      /* which: bit 0 is the newest */
	int64_t ids[POLICY_JOBS_WINDOWS_MAX]; /* the `hits` of them that blame it, newest first */
	bool coarse;		    /* without the windows without ages it is not reached */
	bool identifiable;	    /* in each of its windows */
	double share;		    /* in the newest of them */
	uint64_t from_us, until_us; /* the oldest of them began, the newest ended */
};

struct suspicion_list {
	struct suspicion_found items[SUSPICION_LIST_MAX]; /* most hits, then share, then name */
	size_t n;
	unsigned of; /* windows that count, at most windows.n */
};

/* One that is kept, in the run of these windows. Borrowed; its hosts in any order. */
struct suspicion_extension {
	const char *const *hosts;
	size_t n_hosts;
	int class;
	uint64_t until_us;
};

/* Those that are kept. */
struct suspicion_extensions {
	const struct suspicion_extension *items;
	size_t n;
};

/*
 * Whom the last N windows blame. A suspect whose newest window ended longer than `fresh` ago is
 * not listed: it has lapsed, unless it is kept. Good until the next suspicion_add(). `extensions`
 * may be NULL.
 */
void suspicion_read(const struct suspicion *s, const struct policy_jobs *jobs,
		    const struct suspicion_extensions *extensions, uint64_t now_us,
		    struct suspicion_list *ret);
