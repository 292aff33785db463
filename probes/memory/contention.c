/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/contention.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/memory/numa.h"
#include "probes/memory/team.h"

enum { TICK_NS = 10000000 }; /* of /proc/stat, at 100 ticks per second */

/* Only time has to pass for the counters of /proc to advance. */
static void let_pass(uint64_t us)
{
	const uint64_t end_us = clock_mono_us() + us;

	while (clock_left_us(end_us))
		(void)poll(NULL, 0, clock_left_ms(end_us));
}

void contention_open(struct contention *c, uint64_t us)
{
	*c = (struct contention){
		.proc_fd = paths_open_sys("/proc"),
		.self_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	if (cpu_look_take(c->proc_fd, true, &c->first, NULL) < 0)
		return;
	let_pass(us);
	(void)cpu_look_take(c->proc_fd, true, &c->second, NULL);
}

void contention_close(struct contention *c)
{
	closep(&c->proc_fd);
	closep(&c->self_fd);
	cpu_look_release(&c->first);
	cpu_look_release(&c->second);
}

/* "process 12 (cc1)", or a fallback if no process is found. The caller frees it. */
static char *name_user(const struct contention *c, const struct cpu_look *to, const unsigned *cpus,
		       size_t n)
{
	const struct cpu_use_window window = { &c->first, to };
	struct cpu_user user;

	cpu_use_busiest(c->proc_fd, &window, &(struct cpu_use_cpus){ cpus, n }, getpid(), &user);
	if (user.pid == 0)
		return xstrdup("the kernel or the hypervisor");
	return xasprintf("process %ld (%s)", user.pid, user.command);
}

char *contention_before(const struct contention *c, const struct numa_node *node)
{
	CLEANUP(freep) char *who = NULL;
	double most = 0, all = 0;
	unsigned cpu = 0;
	size_t i;

	for (i = 0; i < node->cpus.n; i++) {
		double busy = cpu_use_busy(&c->first, &c->second, node->cpus.v[i]) +
			      cpu_use_steal(&c->first, &c->second, node->cpus.v[i]);

		all += busy;
		if (busy > most) {
			most = busy;
			cpu = node->cpus.v[i];
		}
	}
	if (most <= CPU_USE_BUSY_MAX || all <= CONTENTION_NODE_MAX * (double)node->cpus.n)
		return NULL;
	who = name_user(c, &c->second, &cpu, 1);
	return xasprintf("CPU %u of numa:%u is %.0f %% busy with other work: %s", cpu, node->id,
			 100 * most, who);
}

struct stint contention_stint(const struct contention *c, const struct team *team,
			      const struct numa_node *node)
{
	struct stint stint = { .at_us = clock_mono_us() };
	struct cpu_look look = { 0 };
	size_t i;

	if (cpu_look_take(c->proc_fd, false, &look, NULL) < 0)
		return stint;
	for (i = 0; i < team_size(team); i++) {
		uint64_t waited = 0;

		(void)cpu_use_schedstat(c->self_fd, getpid(), team_tid(team, i), NULL, &waited);
		stint.waited_ns += waited;
		stint.stolen_ns += cpu_look_steal_ns(&look, node->cores.v[i]);
	}
	cpu_look_release(&look);
	return stint;
}

/* Growth of a counter, 0 if it went backwards. */
static uint64_t since(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static double lost_share(const struct contention *c, const struct stint *from,
			 const struct team *team, const struct numa_node *node)
{
	const struct stint to = contention_stint(c, team, node);
	double all_ns = (double)since(from->at_us, to.at_us) * 1e3 * (double)team_size(team);
	uint64_t stolen_ns = since(from->stolen_ns, to.stolen_ns);

	/* One tick may belong to the time before. */
	stolen_ns -= MIN(stolen_ns, (uint64_t)TICK_NS);
	if (all_ns <= 0)
		return 0;
	return (double)(since(from->waited_ns, to.waited_ns) + stolen_ns) / all_ns;
}

char *contention_since(const struct contention *c, const struct stint *from,
		       const struct team *team, const struct numa_node *node)
{
	CLEANUP(freep) char *who = NULL;
	struct cpu_look look = { 0 };
	double lost = lost_share(c, from, team, node);

	if (lost <= CPU_USE_LOST_MAX || cpu_look_take(c->proc_fd, true, &look, NULL) < 0)
		return NULL;
	who = name_user(c, &look, node->cores.v, node->cores.n);
	cpu_look_release(&look);
	return xasprintf("other work took %.0f %% of the time of the cores of numa:%u: %s",
			 100 * MIN(lost, 1.0), node->id, who);
}
