/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML knows of a GPU in the words of accel.h: what must be equal to
 * compare two values, the state it is in, who else computes on it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/file.h"
#include "lib/paths.h"
#include "lib/xalloc.h"
#include "probes/accel/cuda.h"

static int look(struct cuda *c, unsigned device, struct nvml_state *ret, struct err *err)
{
	if (device >= c->n_devices)
		return err_set(err, ENODEV, "no GPU %u: there are %u", device, c->n_devices);
	if (!c->nvml)
		return err_set(err, ENOTSUP, "no NVML: %s", c->libs.nvml_why);
	return nvml_look(c->nvml, device, ret, err);
}

/* Clocks and throttling are what differs between two runs, not what must be equal. */
void cuda_params(const struct accel *a, unsigned device, json_t *params)
{
	static const char *const modes[] = { "off", "on" };
	struct nvml_state s;

	if (look(cuda_of(a), device, &s, NULL) < 0)
		return;
	if (!isnan(s.power_limit_w))
		(void)json_object_set_new(params, "power_limit_w",
					  json_integer(lround(s.power_limit_w)));
	if (s.ecc >= 0)
		(void)json_object_set_new(params, "ecc", json_string(modes[s.ecc > 0]));
	if (s.mig > 0)
		(void)json_object_set_new(params, "mig", json_string(modes[1]));
}

int cuda_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err)
{
	struct nvml_state s;
	int r = look(cuda_of(a), device, &s, err);

	if (r == 0)
		*ret = s.condition;
	return r;
}

/*
 * In a container NVML counts processes as the host does: we are then among
 * them under a number that we do not know. One stranger that is there once we
 * have a context is taken for ourselves when nobody has our own number.
 */
static unsigned find_other(const struct cuda_device *d, const struct nvml_state *s)
{
	unsigned own = (unsigned)getpid(), others = 0, first = 0, i;
	bool seen = !d->context;

	for (i = 0; i < s->n_pids; i++) {
		if (s->pids[i] == own) {
			seen = true;
			continue;
		}
		others++;
		first = s->pids[i];
	}
	return others > (seen ? 0U : 1U) ? first : 0;
}

int cuda_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err)
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *command = NULL;
	struct cuda *c = cuda_of(a);
	struct nvml_state s;
	unsigned pid;
	int r = look(c, device, &s, err);

	if (r < 0)
		return r;
	pid = find_other(&c->devices[device], &s);
	path = xasprintf("%u/comm", pid);
	if (pid && file_read_line(fd, path, &command) < 0)
		command = NULL;
	*ret_pid = (long)pid;
	*ret_share = pid ? 1 : 0;
	(void)snprintf(ret_command, 64, "%s",
		       command ? command
		       : pid   ? "not in this container"
			       : "");
	return 0;
}
