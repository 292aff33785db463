/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which items of a verdict are bad runs of their part: the windows of K of N count them, and
 * incidents, tests and cordons come of them. One rule for the controller and for the replay of its
 * past. Pure.
 *
 *  - what a probe itself says is not good is bad;
 *  - a value that is below its own usual is bad, whatever the others are; by enough (7.5 %) where
 *    they let it pass;
 *  - else the other hosts of the SKU decide, where they are known: what they find usual is
 *    not bad, for good parts of one host differ more than its few peers can tell, and a SKU
 *    file may ask too much;
 *  - in a SKU too small for that one reference alone does not convict a part that another lets
 *    pass: not the file unless it is far below, and peers never, unless no good part is
 *    so slow (REFERENCE_BROKEN);
 *  - a part that one run measured several times, with different parameters, has one bad run;
 *  - a link is as bad as the cells that it explains.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct verdict;
struct verdict_item;

/* A part that always was slow harms nobody more today than yesterday: so many runs, all of them,
 * tell it. */
enum { BAD_RUN_BORN = 6 };

/* What is known of a (check, subject) besides its runs. */
struct bad_run_facts {
	const char *check;
	bool born;    /* bad_run_is_born() */
	bool deep;    /* alone in its model by so much that few runs tell it */
	double score; /* its value as a part of what is expected, or the other way round; NAN */
	unsigned parts, parts_bad; /* of the host in the check, in its last bad run */
};

/* What disturbs a good part once, or a run of its host, leaves so much of it. */
#define BAD_RUN_DISTURBED 0.8

/* So many bad ones of the last so many. */
struct bad_run_proof {
	unsigned k, n;
};

/*
 * How many bad runs open an incident of what is not fatal, where a rule asks for K of N. The
 * policy may ask for a test at K of N already: its runs count as any. A value that is not lower than
 * what a disturbance leaves (a job that ended late, a hot minute): one more. Where one run in 100 is
 * disturbed, two of three are once in 3,300 runs, which a fleet of a thousand hosts has each day;
 * three of four are once in 250,000. Half of the parts of a host that are low in one run:
 * likewise, however low. One part of several that spread as silicon does, and that was slow since
 * it was first measured: the last BAD_RUN_BORN, unless it is deep or no good part is so slow
 * (REFERENCE_BROKEN), since how far it is from the next of its SKU is known from many runs only.
 */
struct bad_run_proof bad_run_proof(const struct bad_run_facts *facts, uint64_t k, uint64_t n);

/* Is item number `i` a bad run of its (check, subject)? */
bool bad_run(const struct verdict *v, size_t i);

/*
 * Does item number `i` speak for its (check, subject) in this run? Of several that are about the
 * same, the first that is a bad run does, or else the first that could be told; one that could not
 * be told never does.
 */
bool bad_run_speaks(const struct verdict *v, size_t i);

/*
 * Was it always so? Its history says, once there is one. Until then a value that good parts
 * may have is taken as born so, even after a good run or two (`born`: as it was taken before): they
 * spread. What does not spread among good hosts (reference.h) was not born low where other
 * hosts say that it is low.
 */
bool bad_run_is_born(const struct verdict_item *item, bool born);

/* A flap, a line in the kernel log, an Xid is over when it has not been for so long. */
#define BAD_RUN_QUIET_US (1 * USEC_PER_DAY)

/* Is it something that happens, and not a value or a number of things that are there? */
bool bad_run_is_event(const char *check);

/* Is the SKU file the only one that says low? */
bool bad_run_by_file_alone(const struct verdict_item *item);

/* Who is blamed for saying so, an enum verdict_source: the SKU file only when it is alone. */
int bad_run_blames(const struct verdict_item *item);

/* Do only the peers on its host say low, and is that not enough? */
bool bad_run_by_peers_alone(const struct verdict_item *item);
