/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/collective.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/child.h"
#include "agents/assayd/orders.h"
#include "agents/assayd/permit_file.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"

/* Share of the time left to wait for another run here; the other hosts wait half of theirs. */
#define WAIT_SHARE 0.25

/* Time to make a report without samples; generous, for a host that swaps. */
#define ANSWER_US (30 * USEC_PER_SEC)

#define TIMER_ACCURACY_US (50 * USEC_PER_MSEC)

enum {
	STATUS_USAGE = 2,
	STATUS_VERDICT_MAX = 3,
	RANK_SIZE = 16,
	WHY_SIZE = 80,
	PEERS_TEXT_MAX = ORDER_PEERS_MAX * (ORDER_PEER_MAX + 1),
};

struct answer {
	char id[ORDER_ID_MAX + 1];
	int kind, code;
	char why[ERR_MSG_SIZE];
};

struct collective {
	sd_event *event;
	struct child *run, *answering;
	char id[ORDER_ID_MAX + 1]; /* of the running order */
	int kind;
	bool stopped; /* we told it to end */
	/* The order that waits for `run` to end. */
	struct order next; /* owned; no id: none */
	const struct assayd_config *config;
	sd_event_source *patience;
	struct answer answers[COLLECTIVE_ANSWERS_MAX];
	size_t n_answers;
};

static const char *probe_of(int kind)
{
	return kind == ORDER_PAIR ? "rnic-pair" : "all-reduce";
}

/* --- answers ------------------------------------------------------------------ */

static int send_answer(struct collective *c, const struct answer *a, struct err *err)
{
	CLEANUP(freep) char *id = xasprintf("--order=%s", a->id);
	CLEANUP(freep) char *kind = xasprintf("--order-kind=%s", order_kind_names[a->kind]);
	CLEANUP(freep)
	char *decline = xasprintf("--decline=%s:%s", problem_code_names[a->code], a->why);
	const char *const arguments[] = { "run", "--report", "--probe", probe_of(a->kind),
					  id,	 kind,	     decline,	NULL };

	return child_start(c->answering, arguments, clock_mono_us() + ANSWER_US, err);
}

/* Sends the next pending answer, unless one is being sent. */
static void give_answer(struct collective *c)
{
	struct err err = ERR_INIT;

	if (c->n_answers == 0 || child_runs(c->answering))
		return;
	if (send_answer(c, &c->answers[0], &err) < 0)
		log_warning("order not answered: %s id=%s", err.msg, c->answers[0].id);
	memmove(&c->answers[0], &c->answers[1], --c->n_answers * sizeof(c->answers[0]));
}

static void on_exit_of_answer(void *context, const siginfo_t *info)
{
	struct collective *c = context;

	if (info->si_code != CLD_EXITED || info->si_status == STATUS_USAGE ||
	    info->si_status > STATUS_VERDICT_MAX)
		log_warning("an order was not answered: assay run ended with %d", info->si_status);
	give_answer(c);
}

static void answer(struct collective *c, const char *id, int kind, int code, const char *why)
{
	struct answer *a = &c->answers[c->n_answers];

	if (c->n_answers == COLLECTIVE_ANSWERS_MAX) {
		log_warning("order not answered: %d are already waiting id=%s",
			    COLLECTIVE_ANSWERS_MAX, id);
		return;
	}
	c->n_answers++;
	*a = (struct answer){ .kind = kind, .code = code };
	(void)snprintf(a->id, sizeof(a->id), "%s", id);
	(void)snprintf(a->why, sizeof(a->why), "%s", why);
	give_answer(c);
}

void collective_decline(struct collective *c, const struct order *order, int code, const char *why)
{
	answer(c, order->id, order->kind, code, why);
}

/* --- the run -------------------------------------------------------------------- */

/* The run died before it made a report: killed at the deadline, or a fault of ours. */
static void answer_for_run(struct collective *c, int signal_number)
{
	const bool ended = signal_number == SIGTERM || signal_number == SIGKILL;
	char why[WHY_SIZE];

	(void)snprintf(why, sizeof(why), "%s by signal %d before there was a report",
		       ended ? "ended" : "died", signal_number);
	answer(c, c->id, c->kind, ended ? PROBLEM_TIMEOUT : PROBLEM_SET_UP, why);
}

static void obey_next(struct collective *c);

static void on_exit_of_run(void *context, const siginfo_t *info)
{
	struct collective *c = context;
	const char *name = order_kind_names[c->kind];

	permit_file_remove();
	if (info->si_code != CLD_EXITED) {
		log_warning("%s ended by signal %d id=%s", name, info->si_status, c->id);
		if (!c->stopped)
			answer_for_run(c, info->si_status);
	} else if (info->si_status == STATUS_USAGE || info->si_status > STATUS_VERDICT_MAX) {
		log_warning("%s could not run: exit status %d id=%s", name, info->si_status, c->id);
	} else {
		log_info("%s done: exit status %d id=%s", name, info->si_status, c->id);
	}
	obey_next(c);
}

/* The arguments of assay run, followed by those of the probe. */
struct words {
	const char *list[CHILD_ARGUMENTS_MAX + 1];
	size_t n;
	char rank[RANK_SIZE];
};

static void add(struct words *w, const char *word)
{
	if (w->n < CHILD_ARGUMENTS_MAX)
		w->list[w->n++] = word;
}

static void add_pair(struct words *w, const struct order_meeting *m)
{
	add(w, m->rank == 0 ? "--listen" : "--peer");
	add(w, m->peers[0]);
}

static void add_all_reduce(struct words *w, const struct order_meeting *m, const char *peers)
{
	(void)snprintf(w->rank, sizeof(w->rank), "%" PRIu64, m->rank);
	add(w, "--peers");
	add(w, peers);
	add(w, "--rank");
	add(w, w->rank);
}

/* An older probe that does not know these options reports a usage error. */
static void add_memory(struct words *w, const struct order_meeting *m)
{
	if (m->memory != ORDER_HOST_MEMORY) {
		add(w, "--memory");
		add(w, order_memory_names[m->memory]);
	}
	if (m->engine != ORDER_VERBS) {
		add(w, "--engine");
		add(w, order_engine_names[m->engine]);
	}
}

static void join_peers(const struct order_meeting *m, struct strbuf *ret)
{
	size_t i;

	for (i = 0; m->peers[i]; i++)
		(void)strbuf_printf(ret, "%s%s", i ? "," : "", m->peers[i]);
}

static int start(struct collective *c, const struct order *order, uint64_t left_us, struct err *err)
{
	const uint64_t use_us = left_us - COLLECTIVE_RESERVE_US;
	const uint64_t wait_us = (uint64_t)((double)use_us * WAIT_SHARE);
	CLEANUP(strbuf_release) struct strbuf peers = STRBUF_INIT(PEERS_TEXT_MAX);
	CLEANUP(freep) char *permit = permit_file_path();
	CLEANUP(freep) char *id = xasprintf("--order=%s", order->id);
	CLEANUP(freep) char *kind = xasprintf("--order-kind=%s", order_kind_names[order->kind]);
	CLEANUP(freep) char *wait = xasprintf("--wait=%" PRIu64 "ms", wait_us / USEC_PER_MSEC);
	CLEANUP(freep)
	char *budget = xasprintf("--budget=%" PRIu64 "ms", (use_us - wait_us) / USEC_PER_MSEC);
	struct words w = {
		.list = { "run", "--report", "--probe", probe_of(order->kind), id, kind, wait,
			  budget, "--" },
		.n = 9,
	};
	int r;

	join_peers(&order->meeting, &peers);
	if (order->kind == ORDER_PAIR)
		add_pair(&w, &order->meeting);
	else
		add_all_reduce(&w, &order->meeting, strbuf_text(&peers));
	add_memory(&w, &order->meeting);
	add(&w, "--token-file");
	add(&w, permit);
	r = permit_file_write(&order->meeting, err);
	if (r == 0)
		r = child_start(c->run, w.list, clock_mono_us() + left_us, err);
	if (r < 0)
		permit_file_remove();
	return r;
}

/* Returns -EPERM if this host's configuration does not allow the test. */
static int check(const struct order *order, const struct assayd_config *config, struct err *err)
{
	const unsigned port = order_peer_port(order->meeting.peers[0]);

	if (!config->collectives)
		return err_set(err, EPERM,
			       "tests with other hosts are disabled here (collectives.enabled in "
			       "assayd.yaml)");
	if (port < config->ports.first || port > config->ports.last)
		return err_set(err, EPERM,
			       "port %u is not one of %u to %u (collectives.ports in assayd.yaml)",
			       port, config->ports.first, config->ports.last);
	return 0;
}

static int check_idle(const struct collective *c, struct err *err)
{
	return child_runs(c->run)
		       ? err_set(err, EBUSY, "another test with other hosts is running: order %s",
				 c->id)
		       : 0;
}

static uint64_t time_left_us(const struct order *order, uint64_t most_us)
{
	const uint64_t now_us = clock_real_us();

	if (!order->deadline_us)
		return most_us;
	return MIN(most_us, order->deadline_us > now_us ? order->deadline_us - now_us : 0);
}

static int begin(struct collective *c, const struct order *order,
		 const struct assayd_config *config, struct err *err)
{
	const uint64_t left_us = time_left_us(order, config->collective_max_us);

	if (left_us < COLLECTIVE_RESERVE_US + COLLECTIVE_LEAST_US)
		return err_set(err, ETIMEDOUT, "too little time: %.1f s to the deadline",
			       (double)left_us / (double)USEC_PER_SEC);
	(void)snprintf(c->id, sizeof(c->id), "%s", order->id);
	c->kind = order->kind;
	c->stopped = false;
	return start(c, order, left_us, err);
}

static void refuse(struct collective *c, const struct order *order, int r, const char *why)
{
	log_warning("order declined: %s id=%s", why, order->id);
	answer(c, order->id, order->kind, r == -EBUSY ? PROBLEM_BUSY : PROBLEM_SET_UP, why);
}

/* --- an order that waits for the previous run to end ------------------------------- */

static bool waits(const struct collective *c)
{
	return c->next.id[0] != '\0';
}

static void forget_next(struct collective *c)
{
	order_release(&c->next);
	c->patience = sd_event_source_disable_unref(c->patience);
}

static int on_patience(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct collective *c = context;
	struct err err = ERR_INIT;

	refuse(c, &c->next, check_idle(c, &err), err.msg);
	forget_next(c);
	return 0;
}

static bool let_wait(struct collective *c, const struct order *order,
		     const struct assayd_config *config)
{
	if (waits(c) || sd_event_add_time(c->event, &c->patience, CLOCK_MONOTONIC,
					  clock_mono_us() + COLLECTIVE_PATIENCE_US,
					  TIMER_ACCURACY_US, on_patience, c) < 0)
		return false;
	c->next = *order;
	c->next.opinion = NULL;
	c->next.meeting = order_meeting_copy(&order->meeting);
	c->config = config;
	return true;
}

static void obey_next(struct collective *c)
{
	CLEANUP(order_release) struct order next = { 0 };

	if (!waits(c))
		return;
	next = c->next;
	c->next = (struct order){ 0 };
	forget_next(c);
	collective_obey(c, &next, c->config);
}

void collective_obey(struct collective *c, const struct order *order,
		     const struct assayd_config *config)
{
	struct err err = ERR_INIT;
	int r = check(order, config, &err);

	if (r == 0 && child_runs(c->run) && let_wait(c, order, config))
		return;
	if (r == 0)
		r = check_idle(c, &err);
	if (r == 0)
		r = begin(c, order, config, &err);
	if (r < 0) {
		refuse(c, order, r, err.msg);
		return;
	}
	log_info("%s started: rank %" PRIu64 " of %zu id=%s", order_kind_names[order->kind],
		 order->meeting.rank, strv_len(order->meeting.peers), order->id);
}

/* --- life cycle ------------------------------------------------------------------ */

void collective_stop(struct collective *c)
{
	c->n_answers = 0;
	c->stopped = true;
	forget_next(c);
	child_stop(c->run);
	child_stop(c->answering);
	permit_file_remove();
}

struct collective *collective_new(struct sd_event *event)
{
	struct collective *c = xcalloc(1, sizeof(*c));

	c->event = sd_event_ref(event);
	permit_file_remove();
	c->run = child_new(event, "a test with other hosts", on_exit_of_run, c);
	c->answering = child_new(event, "an answer to an order", on_exit_of_answer, c);
	return c;
}

void collective_free(struct collective *c)
{
	if (!c)
		return;
	collective_stop(c);
	child_free(c->run);
	child_free(c->answering);
	(void)sd_event_unref(c->event);
	free(c);
}
