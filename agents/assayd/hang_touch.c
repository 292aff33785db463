/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_touch.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/hang_document.h"
#include "agents/assayd/hang_ranks.h"
#include "agents/assayd/pyspy.h"
#include "agents/assayd/ras_client.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_ras.h"
#include "lib/hang/hang_stack.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

enum { HOSTS_MAX = 64, STATUS_MAX = 16 * 1024, DECIMAL = 10 };

struct hang_touch {
	sd_event *event;
	const struct assayd_config *config;
	void (*done)(void *context);
	void *context;
	struct pyspy *pyspy;	/* outlives a look: a child may have been abandoned */
	struct ras_client *ras; /* NULL: not used */
	const struct hang_ranks *ranks;
	char job[TRACE_JOB_SIZE], nccl[32];
	int64_t run;
	size_t next; /* next rank to examine */
	uint64_t deadline_us;
	json_t *stacks;	  /* [{"rank", "where"}] */
	json_t *answered; /* by RAS: a document, or NULL */
	json_t *missing;
};

static void forget(struct hang_touch *t)
{
	ras_client_free(TAKE(t->ras));
	json_decref(TAKE(t->stacks));
	json_decref(TAKE(t->answered));
	json_decref(TAKE(t->missing));
}

static void say_missing(struct hang_touch *t, const char *what, const char *why)
{
	CLEANUP(freep) char *line = xasprintf("%s: %s", what, why);

	(void)json_array_append_new(t->missing, json_string(line));
}

static bool is_of(const struct hang_touch *t, const struct hang_here *h)
{
	return h->proc_fd >= 0 && h->run == t->run && streq(h->job, t->job);
}

/* Has it been in the same motionless state for long? */
static bool is_still(const struct hang_here *h, uint64_t now_us)
{
	return h->doing.process != HANG_PROCESS_UNKNOWN &&
	       h->doing.process != HANG_PROCESS_RUNNING &&
	       h->doing.process != HANG_PROCESS_TRACED && h->doing.process != HANG_PROCESS_ZOMBIE &&
	       h->doing.process != HANG_PROCESS_GONE && now_us > h->since_us + HANG_RANKS_STANDS_US;
}

/* --- RAS --- */

static uint64_t age_us(const struct hang_here *h)
{
	const uint64_t hz = (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L);
	const uint64_t began_us = h->start_ticks * USEC_PER_SEC / hz, now_us = clock_boot_us();

	return now_us > began_us ? now_us - began_us : 0;
}

/* Are all ranks alive, motionless, and past their start-up? */
static bool may_ask(const struct hang_touch *t)
{
	const uint64_t now_us = clock_mono_us();
	size_t i, n = 0;

	for (i = 0; i < t->ranks->n; i++) {
		const struct hang_here *h = &t->ranks->all[i];

		if (h->run != t->run || !streq(h->job, t->job))
			continue;
		if (h->proc_fd < 0 || !is_still(h, now_us) || age_us(h) < HANG_TOUCH_AGE_US)
			return false;
		n++;
	}
	return n > 0;
}

/* Its PID in its own PID namespace: the last of NSpid. */
static int64_t pid_inside(const struct hang_here *h)
{
	static const char key[] = "\nNSpid:";
	CLEANUP(freep) char *text = NULL;
	char *at, *end;

	if (file_read(h->proc_fd, "status", STATUS_MAX, &text, NULL, NULL) < 0)
		return h->pid;
	at = strstr(text, key);
	if (!at)
		return h->pid;
	at += strlen(key);
	end = strchr(at, '\n');
	if (end)
		*end = '\0';
	at = strrchr(at, '\t');
	return at ? strtoll(at, NULL, DECIMAL) : h->pid;
}

/* Addresses of this host, each freed by the caller. Returns how many. */
static size_t find_hosts(char *ret[static HOSTS_MAX])
{
	struct ifaddrs *all = NULL, *one;
	char text[INET6_ADDRSTRLEN];
	size_t n = 0;

	if (getifaddrs(&all) < 0)
		return 0;
	for (one = all; one && n < HOSTS_MAX; one = one->ifa_next) {
		const void *address = NULL;

		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET)
			address =
				&((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr;
		else if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET6)
			address = &((const struct sockaddr_in6 *)(const void *)one->ifa_addr)
					   ->sin6_addr;
		if (address && inet_ntop(one->ifa_addr->sa_family, address, text, sizeof(text)))
			ret[n++] = xstrdup(text);
	}
	freeifaddrs(all);
	return n;
}

static void take_answer(struct hang_touch *t, const char *text, size_t size)
{
	CLEANUP(hang_case_release) struct hang_case c = { .ranks = NULL };
	const struct hang_head head = { .run = HANG_UNKNOWN, .age_s = NAN };
	struct hang_ras_process processes[HANG_RANKS_HERE_MAX];
	char *hosts[HOSTS_MAX];
	struct hang_ras_known known = {
		.hosts = (const char *const *)hosts,
		.n_hosts = find_hosts(hosts),
		.processes = processes,
		.world = HANG_UNKNOWN,
		.only_known = true,
	};
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < t->ranks->n; i++) {
		const struct hang_here *h = &t->ranks->all[i];

		if (!is_of(t, h))
			continue;
		processes[known.n_processes++] = (struct hang_ras_process){ pid_inside(h), h->rank };
		known.world = h->world > 0 ? h->world : known.world;
	}
	if (hang_ras_read(text, size, &known, &c, &told, &err) == 0)
		t->answered = hang_json_encode(&c, &head);
	else
		say_missing(t, "RAS", err.msg);
	for (i = 0; i < known.n_hosts; i++)
		free(hosts[i]);
}

static void on_answer(void *context, const char *text, size_t size, const char *why)
{
	struct hang_touch *t = context;

	if (text)
		take_answer(t, text, size);
	else
		say_missing(t, "RAS", why);
	t->done(t->context);
}

static void ask(struct hang_touch *t)
{
	struct err err = ERR_INIT;

	if (t->config->hang_ras != ASSAYD_ON || !may_ask(t) || clock_mono_us() >= t->deadline_us) {
		t->done(t->context);
		return;
	}
	t->ras = ras_client_new(t->event, t->config->hang_ras_address, on_answer, t);
	if (ras_client_ask(t->ras, t->nccl, &err) < 0) {
		say_missing(t, "RAS", err.msg);
		t->done(t->context);
	}
}

/* --- py-spy --- */

static void look_at_next(struct hang_touch *t);

static void on_stack(void *context, pid_t pid, const struct hang_stack *stack, const char *why)
{
	struct hang_touch *t = context;
	const struct hang_here *h = &t->ranks->all[t->next];

	(void)pid;
	if (stack && stack->where[0])
		(void)json_array_append_new(t->stacks,
					    json_pack("{s:I, s:s}", "rank", (json_int_t)h->rank,
						      "where", stack->where));
	else if (!stack)
		say_missing(t, "py-spy", why);
	t->next++;
	look_at_next(t);
}

static void look_at_next(struct hang_touch *t)
{
	const uint64_t now_us = clock_mono_us();
	struct err err = ERR_INIT;

	for (;
	     t->config->hang_pyspy == ASSAYD_ON && t->next < t->ranks->n && now_us < t->deadline_us;
	     t->next++) {
		const struct hang_here *h = &t->ranks->all[t->next];

		if (!is_of(t, h) || !is_still(h, now_us))
			continue;
		if (pyspy_look(t->pyspy, h->pid, &err) == 0)
			return; /* on_stack() continues */
		say_missing(t, "py-spy", err.msg);
		break;
	}
	ask(t);
}

/* --- both --- */

void hang_touch_start(struct hang_touch *t, const struct hang_ranks *ranks, const char *job,
		      int64_t run, const char *nccl)
{
	forget(t);
	t->ranks = ranks;
	(void)snprintf(t->job, sizeof(t->job), "%s", job);
	(void)snprintf(t->nccl, sizeof(t->nccl), "%s", nccl ? nccl : "");
	t->run = run;
	t->next = 0;
	t->deadline_us = clock_mono_us() + HANG_TOUCH_WALL_US;
	t->stacks = json_array();
	t->missing = json_array();
	pyspy_use(t->pyspy, t->config->hang_pyspy_path);
	look_at_next(t);
}

void hang_touch_tell(struct hang_touch *t, json_t *groups, json_t *ranks, json_t *missing)
{
	json_t *stack;
	size_t i;

	json_array_foreach(t->stacks, i, stack)
	{
		json_t *rank = hang_document_rank(
			ranks, json_integer_value(json_object_get(stack, "rank")));
		json_t *process = json_object_get(rank, "process");

		if (!process)
			continue;
		(void)json_object_set(process, "where", json_object_get(stack, "where"));
		hang_document_source(rank, "stack");
	}
	hang_document_add(groups, ranks, t->answered);
	(void)json_array_extend(missing, json_object_get(t->answered, "missing"));
	(void)json_array_extend(missing, t->missing);
}

struct hang_touch *hang_touch_new(struct sd_event *event, const struct assayd_config *config,
				  void (*done)(void *context), void *context)
{
	struct hang_touch *t = xcalloc(1, sizeof(*t));

	t->event = sd_event_ref(event);
	t->config = config;
	t->done = done;
	t->context = context;
	t->pyspy = pyspy_new(event, NULL, on_stack, t);
	return t;
}

void hang_touch_free(struct hang_touch *t)
{
	if (!t)
		return;
	forget(t);
	pyspy_free(t->pyspy);
	(void)sd_event_unref(t->event);
	free(t);
}
