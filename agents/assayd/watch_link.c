/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/watch_link.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/link_message.h"
#include "agents/assayd/link_watch.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/rnic_ports.h"
#include "lib/sys/sysfs.h"

/* Polling interval of ports without messages. */
#define POLL_US (10 * USEC_PER_SEC)

/* A device comes and goes in several steps. */
#define SETTLE_US (100 * USEC_PER_MSEC)
#define SETTLE_ACCURACY_US (20 * USEC_PER_MSEC)

enum {
	MESSAGE_SIZE = 32 * 1024, /* maximum size of a dump message */
	MESSAGES_AT_ONCE = 64,	  /* per iteration, so that other event sources get their turn */
	UEVENTS_GROUP = 1,	  /* the kernel's; udev has another */
};

struct watch_link {
	sd_event *event;
	struct link_watch *links;
	void (*changed)(void *context);
	void *context;
	struct ports ports;
	int indexes[PORTS_MAX];	 /* of their network devices, 0: unknown */
	int route_fd, uevent_fd; /* -1: not open */
	sd_event_source *route, *uevents;
	sd_event_source *settle; /* on: check all ports soon */
	sd_event_source *poll;
	bool told; /* the present problem was logged */
};

/* --- ports -------------------------------------------------------------------------- */

static const struct port *find_port(const struct watch_link *l, const char *subject)
{
	size_t i;

	for (i = 0; i < l->ports.n; i++) {
		if (streq(l->ports.all[i].subject, subject))
			return &l->ports.all[i];
	}
	return NULL;
}

/*
 * Do messages report its link? Those for an InfiniBand port are about IPoIB, which may be down or
 * without carrier while the port works.
 */
static bool is_told_of(const struct port *port)
{
	return port->ethernet && port->netdev[0];
}

/*
 * Read a port without messages from sysfs. A port with a physical link is up, whether or not a
 * subnet manager has activated it.
 */
static void see_file(struct watch_link *l, const struct port *port, uint64_t now_us)
{
	struct link_seen seen = { .port = port->subject, .netdev = "", .state = LINK_DOWN };

	/* Downs since the last look; a saturated counter is useless. */
	seen.counted = sys_u64(&seen.downs, "/sys/class/infiniband/%s/ports/%u/counters/link_downed",
			       port->device, port->number);
	if (port->active || port->phys_up)
		seen.state = LINK_UP;
	else if (streq(port->phys_state, "Disabled"))
		seen.state = LINK_OFF;
	else if (!port->state[0])
		return;
	link_watch_see(l->links, &seen, now_us);
}

static void see_gone(struct watch_link *l, uint64_t now_us)
{
	const bool may_move = ports_may_move();
	size_t i = l->links->n;

	while (i-- > 0) {
		const char *name = l->links->ports[i].name;
		const struct link_seen seen = { .port = name, .netdev = "", .state = LINK_GONE };

		if (find_port(l, name))
			continue;
		if (may_move)
			link_watch_forget(l->links, name);
		else
			link_watch_see(l->links, &seen, now_us);
	}
}

/* A new device first has the kernel's name and is then renamed: the old port is not missing. */
static void forget_renamed(struct watch_link *l, const struct ports *before)
{
	size_t i, k;

	for (i = 0; i < before->n; i++) {
		const struct port *was = &before->all[i];

		for (k = 0; k < l->ports.n && was->pci[0]; k++) {
			const struct port *now = &l->ports.all[k];

			if (streq(now->pci, was->pci) && now->number == was->number &&
			    !find_port(l, was->subject))
				link_watch_forget(l->links, was->subject);
		}
	}
}

/* List the ports, keeping what is known of the network devices of existing ones. */
static void read_ports(struct watch_link *l)
{
	CLEANUP(ports_release) struct ports before = l->ports;
	int indexes[PORTS_MAX];
	size_t i, k;

	memcpy(indexes, l->indexes, sizeof(indexes));
	ports_read(NULL, &l->ports);
	for (i = 0; i < l->ports.n; i++) {
		const struct port *now = &l->ports.all[i];

		l->indexes[i] = 0;
		for (k = 0; k < before.n; k++) {
			if (streq(before.all[k].subject, now->subject) &&
			    streq(before.all[k].netdev, now->netdev))
				l->indexes[i] = indexes[k];
		}
	}
	forget_renamed(l, &before);
}

/* Does a port have a network device for which no message has come yet? */
static bool has_unknown(const struct watch_link *l)
{
	size_t i = 0;

	while (i < l->ports.n && (!is_told_of(&l->ports.all[i]) || l->indexes[i]))
		i++;
	return i < l->ports.n;
}

/* List the ports, and check those without messages. */
static void scan(struct watch_link *l)
{
	const uint64_t now_us = clock_boot_us();
	bool silent = false;
	size_t i;

	read_ports(l);
	see_gone(l, now_us);
	for (i = 0; i < l->ports.n; i++) {
		if (is_told_of(&l->ports.all[i]))
			continue;
		silent = true;
		see_file(l, &l->ports.all[i], now_us);
	}
	(void)sd_event_source_set_enabled(l->poll, silent ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
	if (silent)
		(void)sd_event_source_set_time(l->poll, clock_mono_us() + POLL_US);
	l->changed(l->context);
}

static void look_soon(struct watch_link *l)
{
	int enabled = SD_EVENT_OFF;

	if (sd_event_source_get_enabled(l->settle, &enabled) >= 0 && enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time(l->settle, clock_mono_us() + SETTLE_US);
	(void)sd_event_source_set_enabled(l->settle, SD_EVENT_ONESHOT);
}

/* --- messages ------------------------------------------------------------------------- */

static void see_link(struct watch_link *l, size_t i, const struct link_message *m)
{
	struct link_seen seen = {
		.port = l->ports.all[i].subject,
		.netdev = m->name,
		.state = m->carrier ? LINK_UP : LINK_DOWN,
		.counted = m->counted,
		.downs = m->downs,
	};

	if (!m->wanted)
		seen.state = LINK_OFF;
	l->indexes[i] = m->index;
	link_watch_see(l->links, &seen, clock_boot_us());
}

/* Several ports may share a network device. */
static void take_message(struct watch_link *l, const struct link_message *m)
{
	size_t i;

	for (i = 0; i < l->ports.n; i++) {
		struct port *port = &l->ports.all[i];
		const bool named = streq(port->netdev, m->name);
		const bool known = l->indexes[i] && l->indexes[i] == m->index;

		if (m->kind == LINK_MESSAGE_NEW && named && is_told_of(port)) {
			see_link(l, i, m);
		} else if (m->kind == LINK_MESSAGE_NEW && named) {
			port_refresh(port);
			see_file(l, port, clock_boot_us());
		} else if (named || known) {
			look_soon(l); /* it is gone or was renamed */
		}
	}
}

static void ask_for_all(struct watch_link *l)
{
	char request[LINK_REQUEST_SIZE];
	const size_t n = link_message_request(request);

	/* A running dump (EBUSY) will do. */
	if (send(l->route_fd, request, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EBUSY)
		look_soon(l);
}

/* Receive a message from the kernel; 0 if there is none now. Others' messages are ignored. */
static size_t receive(int fd, void *bytes, size_t size, bool *ret_lost)
{
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, bytes, size, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);

	*ret_lost = n < 0 && errno == ENOBUFS;
	return n > 0 && from.nl_pid == 0 ? (size_t)n : 0;
}

static int on_route(sd_event_source *source UNUSED, int fd, uint32_t events UNUSED, void *context)
{
	struct watch_link *l = context;
	CLEANUP(freep) char *bytes = xcalloc(1, MESSAGE_SIZE);
	struct link_message m;
	unsigned i;

	for (i = 0; i < MESSAGES_AT_ONCE; i++) {
		const char *at = bytes;
		bool lost;
		size_t n = receive(fd, bytes, MESSAGE_SIZE, &lost);

		/* Overflow: request the present state of all to make up for lost messages. */
		if (lost)
			ask_for_all(l);
		if (n == 0)
			break;
		while (link_message_next(&at, &n, &m))
			take_message(l, &m);
	}
	l->changed(l->context);
	return 0;
}

static int on_uevent(sd_event_source *source UNUSED, int fd, uint32_t events UNUSED, void *context)
{
	struct watch_link *l = context;
	CLEANUP(freep) char *bytes = xcalloc(1, MESSAGE_SIZE);
	bool lost;
	const size_t n = receive(fd, bytes, MESSAGE_SIZE, &lost);

	if (lost || uevent_is_rdma(bytes, n))
		look_soon(l);
	return 0;
}

/* --- sockets ------------------------------------------------------------------------------ */

static int open_socket(struct watch_link *l, int protocol, uint32_t groups, int *ret_fd,
		       sd_event_source **ret_source, sd_event_io_handler_t handler)
{ /* lint: allow parameters: what differs between two sockets */
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
	CLEANUP(closep)
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	int r;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	r = sd_event_add_io(l->event, ret_source, fd, EPOLLIN, handler, l);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void close_sockets(struct watch_link *l)
{
	l->route = sd_event_source_disable_unref(l->route);
	l->uevents = sd_event_source_disable_unref(l->uevents);
	closep(&l->route_fd);
	closep(&l->uevent_fd);
	l->route_fd = l->uevent_fd = -1;
}

static int open_sockets(struct watch_link *l)
{
	int r = 0;

	if (!l->route)
		r = open_socket(l, NETLINK_ROUTE, RTMGRP_LINK, &l->route_fd, &l->route, on_route);
	if (r == 0 && !l->uevents)
		r = open_socket(l, NETLINK_KOBJECT_UEVENT, UEVENTS_GROUP, &l->uevent_fd,
				&l->uevents, on_uevent);
	return r;
}

/* --- life cycle ------------------------------------------------------------------------------ */

void watch_link_look(struct watch_link *l)
{
	int r;

	scan(l);
	/* Nothing to watch on a host without RNICs; one may be hot-plugged. */
	if (l->ports.n == 0 && l->links->n == 0)
		return;
	r = open_sockets(l);
	if (r < 0 && !l->told)
		log_warning("cannot watch links: netlink: %s", strerror(-r));
	l->told = r < 0;
	if (l->route)
		ask_for_all(l);
}

static int on_settle(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	watch_link_look(context);
	return 0;
}

static int on_poll(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct watch_link *l = context;

	scan(l);
	if (l->route && has_unknown(l))
		ask_for_all(l);
	return 0;
}

static void make_timer(struct watch_link *l, sd_event_source **ret, uint64_t accuracy_us,
		       sd_event_time_handler_t handler)
{
	if (sd_event_add_time(l->event, ret, CLOCK_MONOTONIC, 0, accuracy_us, handler, l) >= 0)
		(void)sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

struct watch_link *watch_link_new(struct sd_event *event, struct link_watch *links,
				  void (*changed)(void *context), void *context)
{
	struct watch_link *l = xcalloc(1, sizeof(*l));

	l->event = sd_event_ref(event);
	l->links = links;
	l->changed = changed;
	l->context = context;
	l->route_fd = l->uevent_fd = -1;
	make_timer(l, &l->settle, SETTLE_ACCURACY_US, on_settle);
	make_timer(l, &l->poll, USEC_PER_SEC, on_poll);
	return l;
}

void watch_link_free(struct watch_link *l)
{
	if (!l)
		return;
	close_sockets(l);
	(void)sd_event_source_disable_unref(l->settle);
	(void)sd_event_source_disable_unref(l->poll);
	ports_release(&l->ports);
	(void)sd_event_unref(l->event);
	free(l);
}
