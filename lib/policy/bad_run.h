/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which items of a verdict are bad runs of their part: the windows of K of N count them,
 * and lead to incidents, tests and cordons. The controller and the replay of its history use the
 * same rule. Pure.
 *
 * - What the probe itself says is not good is bad.
 * - A value below its own usual one is bad, whatever the others are; if they pass it, only when it
 *   has dropped enough (7.5 %).
 * - Else the other hosts of the SKU decide, if known: what is usual among them is not bad, since
 *   good parts of a host spread more than its few peers can show, and a SKU file may ask too much.
 * - In a SKU too small for that, one reference alone does not convict a part that another one
 *   passes: not the file unless the value is far below, and peers only if no good part is that slow
 *   (REFERENCE_BROKEN).
 * - A part that one run measured several times, with different parameters, has one bad run.
 * - A link is as bad as the cells that it explains.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct verdict;
struct verdict_item;

/*
 * Runs, all of them bad, that prove a part that was always slow: it does no more harm today than
 * yesterday, so there is time.
 */
enum { BAD_RUN_BORN = 6 };

/* What is known of a (check, subject) besides its runs. */
struct bad_run_facts {
	const char *check;
	bool born;		   /* bad_run_is_born() */
	bool deep;		   /* so far from all others of its model that few runs suffice */
	double score;		   /* ratio of value to expected, or its inverse; NAN */
	unsigned parts, parts_bad; /* parts of the host in the check, in its last bad run */
};

/* A one-time disturbance of a good part, or of a run of its host, leaves at least this much. */
#define BAD_RUN_DISTURBED 0.8

/* K bad runs of the last N. */
struct bad_run_proof {
	unsigned k, n;
};

/*
 * How many bad runs open an incident that is not fatal, where a rule asks for K of N. (The policy
 * may order a test at K of N already; that run counts like any other.) K + 1 of N + 1 if
 * the value is no lower than what a disturbance leaves (a job that ended late, a hot minute): if
 * one run in 100 is disturbed, two of three happen once in 3,300 runs, which a fleet of a thousand
 * hosts has each day, and three of four once in 250,000. The same if half of a host's parts are low
 * in one run, however low. All of the last BAD_RUN_BORN for one part of several that spread like
 * silicon and that was slow since its first measurement, unless it is deep or no good part is that
 * slow (REFERENCE_BROKEN): only many runs show how far it is from the next one of its SKU.
 */
struct bad_run_proof bad_run_proof(const struct bad_run_facts *facts, uint64_t k, uint64_t n);

/* True if item number `i` is a bad run of its (check, subject). */
bool bad_run(const struct verdict *v, size_t i);

/*
 * True if item number `i` represents its (check, subject) in this run. Of several items about the
 * same part that is the first bad run, else the first that is not inconclusive; an inconclusive one
 * never is.
 */
bool bad_run_speaks(const struct verdict *v, size_t i);

/*
 * True if the part was always like that. Its history decides, once there is one. Until then, a
 * value that good parts can have counts as born slow, even after a good run or two (`born`: the
 * previous answer), since good parts spread. A check in which good hosts do not spread
 * (reference.h) is not born low if other hosts say that it is low.
 */
bool bad_run_is_born(const struct verdict_item *item, bool born);

/* A flap, a line in the kernel log or an Xid is over once it has not recurred for this long. */
#define BAD_RUN_QUIET_US (1 * USEC_PER_DAY)

/* True for something that happens, rather than a value or a count. */
bool bad_run_is_event(const char *check);

/* True if only the SKU file says low. */
bool bad_run_by_file_alone(const struct verdict_item *item);

/* The source to name as the accuser, an enum verdict_source: the SKU file only if it is alone. */
int bad_run_blames(const struct verdict_item *item);

/* True if only the peers on its host say low, and that is not enough. */
bool bad_run_by_peers_alone(const struct verdict_item *item);
