/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_users.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/cuda.h"
#include "probes/accel/cuda_nvml.h"

static int look(struct cuda *c, unsigned device, unsigned what, struct nvml_state *ret,
		struct err *err)
{
	if (device >= c->n_devices)
		return err_set(err, ENODEV, "no GPU %u: this host has %u", device, c->n_devices);
	if (!c->nvml)
		return err_set(err, ENOTSUP, "no NVML: %s", c->libs.nvml_why);
	return cuda_nvml_look(c->nvml, device, what, ret, err);
}

int cuda_refuse_shared(const struct cuda *c, struct err *err)
{
	unsigned i;

	for (i = 0; i < c->n_devices; i++) {
		if (cuda_nvml_facts(c->nvml, i).vgpu)
			return err_set(
				err, ENODEV,
				"%s is a virtual GPU (vGPU), whose speed depends on who else "
				"shares it: GPUs are not measured here",
				c->devices[i].info.subject);
	}
	return 0;
}

/* The speed of a MIG instance depends on its size. */
static void say_what_it_is(const struct cuda *c, unsigned device, const struct nvml_state *s,
			   json_t *params)
{
	const struct nvml_facts facts = cuda_nvml_facts(c->nvml, device);

	if (s->mig > 0) {
		(void)json_object_set_new(params, "mig", json_string("on"));
		(void)json_object_set_new(params, "sms",
					  json_integer(c->devices[device].info.units));
	}
	if (facts.cc)
		(void)json_object_set_new(params, "cc", json_string("on"));
	if (facts.c2c)
		(void)json_object_set_new(params, "c2c", json_string("on"));
}

/* Clocks and throttling are left out, because they need not be equal. */
void cuda_params(const struct accel *a, unsigned device, json_t *params)
{
	static const char *const modes[] = { "off", "on" };
	struct nvml_state s = { 0 };

	if (look(cuda_of(a), device, NVML_ASK_NUMBERS | NVML_ASK_MODES, &s, NULL) < 0) {
		s.mig = -1;
		say_what_it_is(cuda_of(a), device, &s, params);
		return;
	}
	if (!isnan(s.power_limit_w))
		(void)json_object_set_new(params, "power_limit_w",
					  json_integer(lround(s.power_limit_w)));
	if (s.ecc >= 0)
		(void)json_object_set_new(params, "ecc", json_string(modes[s.ecc > 0]));
	say_what_it_is(cuda_of(a), device, &s, params);
}

int cuda_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err)
{
	struct nvml_state s = { 0 };
	int r = look(cuda_of(a), device, NVML_ASK_NUMBERS | NVML_ASK_LINKS | NVML_ASK_MEMORY, &s,
		     err);

	if (r == 0)
		*ret = s.condition;
	return r;
}

enum { COMMAND_SIZE = 64 };

/* "" if unknown: it has exited, or is not in this container. */
static void read_command(int proc_fd, unsigned pid, char ret[static COMMAND_SIZE])
{
	CLEANUP(freep) char *path = xasprintf("%u/comm", pid);
	CLEANUP(freep) char *command = NULL;

	if (file_read_line(proc_fd, path, &command) < 0)
		command = NULL;
	(void)snprintf(ret, COMMAND_SIZE, "%s", command ? command : "");
}

/* A process that works for others is no user if its clients are known: they count instead. */
static bool is_allowed(const struct cuda *c, const struct nvml_state *s, const char *command)
{
	const struct gpu_user *row = gpu_users_find(&c->users, command);

	return row && (row->clients <= 0 || s->knows_clients);
}

/*
 * In a container NVML lists host pids, and we do not know our own. If our pid is not listed, one
 * unknown process that is there once we have a context is assumed to be us.
 */
static unsigned find_other(const struct cuda *c, const struct cuda_device *d,
			   const struct nvml_state *s, char ret_command[static COMMAND_SIZE])
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");
	unsigned own = (unsigned)getpid(), others = 0, last = 0, i;
	bool seen = !d->context;

	for (i = 0; i < s->n_pids; i++) {
		char command[COMMAND_SIZE];

		if (s->pids[i] == own) {
			seen = true;
			continue;
		}
		read_command(fd, s->pids[i], command);
		if (is_allowed(c, s, command))
			continue;
		others++;
		last = s->pids[i];
		memcpy(ret_command, command, COMMAND_SIZE);
	}
	return others > (seen ? 0U : 1U) ? last : 0;
}

int cuda_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err)
{
	struct cuda *c = cuda_of(a);
	char command[COMMAND_SIZE] = "";
	struct nvml_state s = { 0 };
	unsigned pid;
	int r = look(c, device, NVML_ASK_USERS, &s, err);

	if (r < 0)
		return r;
	pid = find_other(c, &c->devices[device], &s, command);
	*ret_pid = (long)pid;
	*ret_share = pid ? 1 : 0;
	(void)snprintf(ret_command, 64, "%s",
		       !pid	    ? ""
		       : command[0] ? command
				    : "not in this container");
	return 0;
}
