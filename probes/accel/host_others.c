/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else runs on a core, by two looks at /proc (probes/harness/cpu_use.h). One look
 * serves all cores, so it is taken anew only when a core asks a second time.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/host.h"

enum { GROUP_MAX = 16 }; /* hardware threads of one core; POWER10 has 8 */

static void look(struct host *h)
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");

	cpu_look_release(&h->before);
	h->before = h->now;
	h->now = (struct cpu_look){ 0 };
	(void)cpu_look_take(fd, true, &h->now, NULL); /* without /proc nobody is named */
}

void host_others_init(struct host *h)
{
	look(h);
}

void host_others_release(struct host *h)
{
	cpu_look_release(&h->before);
	cpu_look_release(&h->now);
}

static void look_again(struct host *h)
{
	unsigned i;

	look(h);
	for (i = 0; i < h->n_cores; i++)
		h->cores[i].answered = false;
}

static size_t group_cpus(const struct host_core *core, unsigned ret_cpus[static GROUP_MAX])
{
	unsigned cpu;
	size_t n = 0;

	for (cpu = 0; cpu < HOST_CPUS_MAX && n < GROUP_MAX; cpu++) {
		if (host_core_has(core, cpu))
			ret_cpus[n++] = cpu;
	}
	return n;
}

int host_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err)
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");
	struct host *h = host_of(a);
	const struct cpu_use_window window = { &h->before, &h->now };
	unsigned cpus[GROUP_MAX];
	struct cpu_use_cpus group = { .v = cpus };
	struct cpu_user user;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	if (h->cores[device].answered)
		look_again(h);
	h->cores[device].answered = true;
	group.n = group_cpus(&h->cores[device], cpus);
	cpu_use_busiest(fd, &window, &group, getpid(), &user);
	*ret_pid = user.pid;
	*ret_share = user.pid ? NAN : 0;
	(void)snprintf(ret_command, 64, "%s", user.command);
	return 0;
}
