/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ras_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/ras_endpoint.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_ras_answer.h"
#include "lib/hang/hang_ras_version.h"
#include "lib/sys/file.h"

#define STR2(x) #x
#define STR(x) STR2(x)

enum {
	ADDRESSES = 2,
	PIECE = 16 * 1024,
	SAID_MAX = 64, /* bytes of an answer that are quoted */
};

/*
 * The requests in turn, and the required prefix of each reply; NULL: the answer, until end of
 * file.
 */
static const struct step {
	const char *say, *expect;
	bool json; /* only if the version supports it */
} steps[] = {
	{ "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ", false },
	{ "TIMEOUT " STR(RAS_LEG_S) "\n", "OK\n", false },
	{ "SET FORMAT json\n", "OK\n", true },
	{ "VERBOSE STATUS\n", NULL, false },
};

struct ras_client {
	sd_event *event;
	const char *addresses[ADDRESSES]; /* the first is `own` or a constant */
	char *own;
	ras_client_done *done;
	void *context;
	/* State of the running query: */
	sd_event_source *io, *timer;
	int fd;
	size_t address, step;
	bool asks, connecting;
	const struct hang_ras_version *version;
	struct strbuf in;
	uint64_t answer_us; /* total timeout */
};

struct ras_client *ras_client_new(struct sd_event *event, const char *address,
				  ras_client_done *done, void *context)
{
	struct ras_client *c = xcalloc(1, sizeof(*c));

	c->event = sd_event_ref(event);
	c->own = xstrdup(address);
	c->addresses[0] = address ? c->own : RAS_ENDPOINT_4;
	c->addresses[1] = address ? NULL : RAS_ENDPOINT_6;
	c->done = done;
	c->context = context;
	c->fd = -1;
	c->in.limit = HANG_RAS_ANSWER_MAX;
	c->answer_us = RAS_ANSWER_US;
	return c;
}

void ras_client_hurry(struct ras_client *c, uint64_t answer_us)
{
	c->answer_us = answer_us;
}

static void hang_up(struct ras_client *c)
{
	c->io = sd_event_source_disable_unref(c->io);
	c->timer = sd_event_source_disable_unref(c->timer);
	closep(&c->fd);
	c->fd = -1;
}

void ras_client_free(struct ras_client *c)
{
	if (!c)
		return;
	hang_up(c);
	strbuf_release(&c->in);
	(void)sd_event_unref(c->event);
	free(c->own);
	free(c);
}

bool ras_client_asks(const struct ras_client *c)
{
	return c->asks;
}

/* End a query, with an answer if `why` is empty. Must be the caller's last action: see ask(). */
static void finish(struct ras_client *c, const struct err *why)
{
	struct strbuf in = c->in;

	c->in = (struct strbuf)STRBUF_INIT(HANG_RAS_ANSWER_MAX);
	hang_up(c);
	c->asks = false;
	if (why->code)
		c->done(c->context, NULL, 0, why->msg);
	else
		c->done(c->context, strbuf_text(&in), in.len, NULL);
	strbuf_release(&in);
}

static void give_up(struct ras_client *c, const char *what)
{
	struct err why = ERR_INIT;

	(void)err_set(&why, EIO, "RAS at %s %s", c->addresses[c->address], what);
	finish(c, &why);
}

/* --- protocol --- */

static void say(struct ras_client *c)
{
	const char *line = steps[c->step].say;
	const size_t n = strlen(line);

	/* A few bytes always fit into a new connection. */
	if (send(c->fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		give_up(c, "hung up");
}

/* Continue with the next request, skipping those that this version does not support. */
static void go_on(struct ras_client *c)
{
	strbuf_release(&c->in);
	do {
		c->step++;
	} while (steps[c->step].json && !c->version->json);
	say(c);
}

static void refuse(struct ras_client *c)
{
	struct err why = ERR_INIT;

	(void)err_set(
		&why, EPROTO, "RAS at %s answers \"%.*s\" to \"%.*s\"", c->addresses[c->address],
		(int)MIN(strcspn(strbuf_text(&c->in), "\n"), (size_t)SAID_MAX), strbuf_text(&c->in),
		(int)strcspn(steps[c->step].say, "\n"), steps[c->step].say);
	finish(c, &why);
}

/* Check a reply line, which may be incomplete. */
static void judge_line(struct ras_client *c)
{
	const char *expect = steps[c->step].expect;

	if (strchr(strbuf_text(&c->in), '\n')) {
		if (starts_with(strbuf_text(&c->in), expect))
			go_on(c);
		else
			refuse(c);
	} else if (c->in.len > PIECE) {
		refuse(c);
	}
}

static void end_of_input(struct ras_client *c)
{
	const struct err none = ERR_INIT;

	if (steps[c->step].expect || c->in.len == 0)
		give_up(c, "hung up without an answer");
	else
		finish(c, &none);
}

static void take(struct ras_client *c)
{
	char piece[PIECE];
	const ssize_t n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			give_up(c, "hung up");
		return;
	}
	if (n == 0) {
		end_of_input(c);
		return;
	}
	if (strbuf_add(&c->in, piece, (size_t)n) < 0) {
		give_up(c, "answers with more than 4 MiB");
		return;
	}
	if (steps[c->step].expect)
		judge_line(c);
}

/* --- the connection --- */

static int dial(struct ras_client *c, struct err *err);

/* Try the next address; if none is left, fail. */
static void next_address(struct ras_client *c, int error)
{
	struct err why = ERR_INIT;
	int r = -error;

	while (r < 0) {
		why = (struct err)ERR_INIT;
		if (error == ETIMEDOUT)
			(void)err_set(&why, error, "RAS at %s cannot be reached within 1 s",
				      c->addresses[c->address]);
		else
			(void)err_errno(&why, error, "RAS at %s", c->addresses[c->address]);
		hang_up(c);
		if (c->address + 1 == ADDRESSES || !c->addresses[c->address + 1]) {
			finish(c, &why);
			return;
		}
		c->address++;
		r = dial(c, &why);
		error = -r;
	}
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct ras_client *c = context;

	if (c->connecting)
		next_address(c, ETIMEDOUT);
	else
		give_up(c, "does not answer in time");
	return 0;
}

static void on_connected(struct ras_client *c)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error) {
		next_address(c, error);
		return;
	}
	c->connecting = false;
	(void)sd_event_source_set_io_events(c->io, EPOLLIN);
	(void)sd_event_source_set_time(c->timer, clock_mono_us() + c->answer_us);
	(void)sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
	say(c);
}

static int on_io(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		 void *context)
{
	struct ras_client *c = context;

	if (c->connecting)
		on_connected(c);
	else
		take(c);
	return 0;
}

static int dial(struct ras_client *c, struct err *err)
{
	struct sockaddr_storage address;
	socklen_t size = 0;
	int r;

	if (!ras_endpoint_parse(c->addresses[c->address], &address, &size))
		return err_set(err, EINVAL, "RAS: '%s' is no address", c->addresses[c->address]);
	c->connecting = true;
	c->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return err_errno(err, errno, "RAS: no socket");
	if (connect(c->fd, (const struct sockaddr *)&address, size) < 0 && errno != EINPROGRESS)
		return err_errno(err, errno, "RAS at %s", c->addresses[c->address]);
	r = sd_event_add_io(c->event, &c->io, c->fd, EPOLLOUT, on_io, c);
	if (r >= 0)
		r = sd_event_add_time(c->event, &c->timer, CLOCK_MONOTONIC,
				      clock_mono_us() + RAS_CONNECT_US, 0, on_timer, c);
	return r < 0 ? err_errno(err, -r, "RAS: cannot wait for its answer") : 0;
}

int ras_client_ask(struct ras_client *c, const char *version, struct err *err)
{
	const unsigned number = hang_ras_version_number(version ? version : "");
	const struct hang_ras_version *found = hang_ras_version_find(number);
	int r;

	if (c->asks)
		return err_set(err, EBUSY, "RAS is being asked");
	if (!number)
		return err_set(err, EOPNOTSUPP,
			       "RAS is not queried: the job's version of NCCL is unknown");
	if (!found)
		return err_set(err, EOPNOTSUPP,
			       "RAS is not queried: NCCL %.16s is not among the versions known to "
			       "survive it",
			       version);
	if (!found->ask)
		return err_set(err, EOPNOTSUPP, "RAS is not queried: in NCCL %.16s %s", version,
			       found->words);
	c->version = found;
	c->step = c->address = 0;
	r = dial(c, err);
	if (r < 0 && c->addresses[1]) { /* a host without IPv4 */
		hang_up(c);
		c->address = 1;
		r = dial(c, err);
	}
	if (r < 0)
		hang_up(c);
	c->asks = r == 0;
	return r;
}
