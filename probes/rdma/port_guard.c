/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/port_guard.h"

#include <errno.h>
#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/rnic_ports.h"
#include "lib/sys/sysfs.h"
#include "probes/rdma/users.h"
#include "probes/rnic_state/nic.h"

enum { LOOK_MS = 5 }; /* between looks at a port that may be going down */

#define SETTLES_US (500 * USEC_PER_MSEC)
/* A port may go down shortly before its network device is reported as switched off. */
#define SWITCH_US (50 * USEC_PER_MSEC)
#define MEGA 1e6

int port_check_users(const struct rdma_port *port, struct err *err)
{
	struct rdma_users users = { 0 };
	CLEANUP(freep) char *who = NULL;

	if (rdma_users_read(port->device, &users, NULL) < 0 || users.queues == 0)
		return 0;
	who = users.pid ? xasprintf("%s (pid %ld)", users.command[0] ? users.command : "a process",
				    users.pid)
			: xstrdup("a process in another PID namespace");
	return err_set(err, EBUSY, "%s uses %s: %u queue pair%s of others, connected", who,
		       port->device, users.queues, users.queues > 1 ? "s" : "");
}

bool port_has_others(const struct rdma_port *port)
{
	return port_check_users(port, NULL) < 0;
}

int port_check_traffic(const struct rdma_port *port, const struct traffic *first, struct err *err)
{
	struct traffic now;
	double rate;

	traffic_read(port, &nic_kernel, &now);
	rate = traffic_rate(first, &now, port->mtu);
	if (port->bytes_per_s <= 0 || rate <= TRAFFIC_BUSY_SHARE * port->bytes_per_s)
		return 0;
	return err_set(err, EBUSY,
		       "others are sending %.1f MB/s through %s port %u, %.0f %% of its rate",
		       rate / MEGA, port->device, port->number, 100 * rate / port->bytes_per_s);
}

char *port_foreign_words(const struct rdma_port *port, const struct traffic *before,
			 const struct traffic *after, struct traffic_own *out,
			 struct traffic_own *in)
{
	struct traffic_finding finding;

	out->others = in->others = port_has_others(port);
	traffic_judge_ways(before, after, out, in, port->bytes_per_s, &finding);
	if (!finding.foreign)
		return NULL;
	return xasprintf("%s port %u: %s", port->device, port->number, finding.words);
}

bool port_is_taken_down(const struct rdma_port *port)
{
	char netdev[IF_NAMESIZE];
	uint64_t flags;

	return port->layer == RDMA_ETHERNET && port_netdev(port->device, port->number, netdev) &&
	       sys_u64(&flags, "/sys/class/net/%s/flags", netdev) && !(flags & IFF_UP);
}

static bool look_once(struct rdma_engine *engine, struct rdma_device *device,
		      const struct rdma_port *port, struct rdma_scene *scene)
{
	struct rdma_port now = *port;
	int r = engine->ops->port_now(device, port->number, &now, NULL);

	scene->gone = r == -ENODEV;
	scene->down = !scene->gone && !now.active;
	return scene->gone || scene->down;
}

void port_look(struct rdma_engine *engine, struct rdma_device *device, const struct rdma_port *port,
	       struct rdma_scene *scene)
{
	const bool failed = scene->failed.status != RDMA_OK && !engine->ops->hollow;
	uint64_t deadline_us = clock_mono_us() + (failed ? SETTLES_US : 0);

	if (!engine->ops->port_now)
		return;
	while (!look_once(engine, device, port, scene) && clock_mono_us() < deadline_us)
		(void)poll(NULL, 0, LOOK_MS);
	if (!scene->down)
		return;
	deadline_us = clock_mono_us() + (engine->ops->hollow ? 0 : SWITCH_US);
	while (!port_is_taken_down(port)) {
		if (clock_mono_us() >= deadline_us)
			return;
		(void)poll(NULL, 0, LOOK_MS);
	}
	scene->taken_down = true;
}
