/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_hosts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { ELSEWHERE_MAX = 4, FOR_SIZE = 32, ALIKE_LEAST = 2 };

/* "for 120 s", or nothing if unknown. */
static const char *write_for(char *text, double seconds)
{
	text[0] = '\0';
	if (isfinite(seconds))
		(void)snprintf(text, FOR_SIZE, " for %.0f s", seconds);
	return text;
}

size_t hang_hosts_xid(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_rank *rank;
	size_t i, n = 0;

	for (i = 0; i < facts->c->n_ranks; i++) {
		rank = &facts->c->ranks[i];
		if (rank->xid <= 0)
			continue;
		hang_verdict_blame(verdict, (uint32_t)i);
		hang_verdict_say(&verdict->evidence,
				 "rank %zu: the driver reported Xid %" PRId64 " for its GPU%s%s", i,
				 rank->xid, rank->node[0] ? " on " : "", rank->node);
		n++;
	}
	return n;
}

/* If most of a job has ended, it is unknown who ended first. */
static bool most_are_gone(const struct hang_case *c)
{
	size_t i, gone = 0, known = 0;

	for (i = 0; i < c->n_ranks; i++) {
		known += c->ranks[i].process != HANG_PROCESS_UNKNOWN;
		gone += c->ranks[i].process == HANG_PROCESS_GONE ||
			c->ranks[i].process == HANG_PROCESS_ZOMBIE;
	}
	return 2 * gone > known;
}

static const char *why_it_cannot(const struct hang_rank *rank, bool gone_counts)
{
	bool long_enough = rank->process_s >= HANG_STATE_LEAST_S;

	switch (rank->process) {
	case HANG_PROCESS_STOPPED:
		return "a signal has stopped its process";
	case HANG_PROCESS_TRACED:
		return long_enough ? "a debugger holds its process" : NULL;
	case HANG_PROCESS_DISK:
		return long_enough ? "its process hangs in the kernel, uninterruptible" : NULL;
	case HANG_PROCESS_ZOMBIE:
	case HANG_PROCESS_GONE:
		return gone_counts ? "its process has ended" : NULL;
	default:
		return NULL;
	}
}

size_t hang_hosts_process(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	bool gone_counts = !most_are_gone(facts->c);
	const struct hang_rank *rank;
	const char *why;
	char time[FOR_SIZE];
	size_t i, n = 0;

	for (i = 0; i < facts->c->n_ranks; i++) {
		rank = &facts->c->ranks[i];
		why = why_it_cannot(rank, gone_counts);
		if (!why || (facts->ranks[i].known && !facts->ranks[i].waited &&
			     !facts->ranks[i].behind && facts->ranks[i].idle != HANG_IDLE_NO))
			continue;
		hang_verdict_blame(verdict, (uint32_t)i);
		hang_verdict_say(&verdict->evidence, "rank %zu: %s%s%s%s%s%s%s%s", i, why,
				 write_for(time, rank->process_s), rank->node[0] ? " on " : "",
				 rank->node, rank->wchan[0] ? ", in " : "", rank->wchan,
				 rank->where[0] ? ", at " : "", rank->where);
		n++;
	}
	return n;
}

/* --- who is elsewhere ----------------------------------------------------------- */

/* Where a process is: its innermost frame, or else its system call; "" unknown. */
static const char *place_of(const struct hang_rank *rank)
{
	return rank->where[0] ? rank->where : rank->syscall;
}

/* Words in frames and calls that wait for other ranks. */
static bool waits_for_others(const struct hang_rank *rank)
{
	static const char *const words[] = {
		"all_reduce", "allreduce",   "all_gather", "allgather", "reduce_scatter",
		"barrier",    "broadcast",   "all_to_all", "recv",	"send",
		"wait",	      "synchronize", "nccl",	   "gloo"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words) && rank->where[0]; i++)
		if (strcasestr(rank->where, words[i]))
			return true;
	return !rank->where[0] &&
	       (rank->process == HANG_PROCESS_FUTEX || streq(rank->syscall, "futex") ||
		streq(rank->syscall, "epoll_wait") || streq(rank->syscall, "poll") ||
		streq(rank->syscall, "ppoll"));
}

static bool is_known(const struct hang_rank *rank)
{
	return rank->process != HANG_PROCESS_UNKNOWN &&
	       (place_of(rank)[0] || rank->process == HANG_PROCESS_SPINNING);
}

/* True if it proves that nothing is launched. Waiting for a GPU looks like spinning in a loop. */
static bool is_proof(const struct hang_rank *rank)
{
	return rank->process_s >= HANG_STATE_LEAST_S && rank->process != HANG_PROCESS_RUNNING &&
	       !(rank->process == HANG_PROCESS_SPINNING && rank->gpu[0]);
}

size_t hang_hosts_elsewhere(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_case *c = facts->c;
	size_t i, known = 0, waiting = 0, elsewhere = 0, unknown = 0;
	const struct hang_rank *rank;
	char time[FOR_SIZE];
	bool proven;

	for (i = 0; i < c->n_ranks; i++) {
		rank = &c->ranks[i];
		known += is_known(rank);
		unknown += !is_known(rank);
		waiting += is_known(rank) && waits_for_others(rank);
	}
	elsewhere = known - waiting;
	if (elsewhere == 0 || elsewhere > ELSEWHERE_MAX || waiting < ALIKE_LEAST ||
	    elsewhere * 2 > waiting)
		return 0;
	for (i = 0; i < c->n_ranks; i++) {
		rank = &c->ranks[i];
		if (!is_known(rank) || waits_for_others(rank))
			continue;
		proven = unknown == 0 && is_proof(rank);
		if (proven)
			hang_verdict_blame(verdict, (uint32_t)i);
		else
			hang_verdict_suspect(verdict, (uint32_t)i);
		hang_verdict_say(
			&verdict->evidence,
			"rank %zu: its process is %s%s%s%s, while %zu of %zu others wait for "
			"other ranks",
			i, hang_process_names[rank->process], write_for(time, rank->process_s),
			place_of(rank)[0] ? " in " : "", place_of(rank), waiting, c->n_ranks - 1);
	}
	return verdict->n_ranks;
}
