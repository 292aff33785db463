/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/rings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/ring_hang.h"
#include "agents/assayd/ring_sample.h"
#include "agents/assayd/ring_set.h"
#include "agents/assayd/ring_socket.h"
#include "agents/assayd/ring_store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

#define LOOK_US USEC_PER_SEC
#define LOOK_ACCURACY_US USEC_PER_MSEC /* all hosts of a job start a sample together */
#define SAY_US USEC_PER_MIN	       /* one line per reason, with the number suppressed */
#define TELL_US USEC_PER_SEC
#define SAMPLE_MAX_US (5 * USEC_PER_MIN) /* steps may be too long for a sample */
#define NS_PER_S 1e9

enum { METRICS_MAX = 8 * 1024, ASKS_MAX = 16 };

/* A request for more data on a job. */
struct ask {
	char job[TRACE_JOB_SIZE]; /* "": all jobs */
	int64_t run;
	uint64_t until_us;
};

struct rings {
	sd_event *event;
	const struct assayd_config *config;
	struct traces *traces;
	struct ring_socket *socket;
	struct ring_set set;
	sd_event_source *look, *tell;
	struct ask asks[ASKS_MAX];
	size_t n_asks;
	struct ring_read_counts dropped;
	uint64_t counts[RING_REFUSALS], said_us[RING_REFUSALS], unsaid[RING_REFUSALS];
	struct ring_store_item *kept; /* from before the last restart, not yet processed */
	size_t n_kept;
	uint64_t returned[RING_REFUSALS];
};

/* The clock used in rings. */
static uint64_t mono_ns(void)
{
	return clock_mono_us() * 1000;
}

/* --- output --- */

static size_t n_recording(const struct rings *r)
{
	size_t n = 0, i;

	for (i = 0; i < r->set.n_rings; i++)
		n += r->set.rings[i].since_ns != 0;
	return n;
}

static void put_gauges(const struct rings *r, struct strbuf *text)
{
	const struct {
		const char *name, *help;
		uint64_t value;
	} rows[] = {
		{ "assay_rings", "Rings of jobs currently held.", r->set.n_rings },
		{ "assay_rings_bytes", "Bytes of them.",
		  r->set.n_rings * (uint64_t)(RING_SIZE + RING_CONTROL_SIZE) },
		{ "assay_rings_recording", "Rings in which collectives are being recorded.",
		  n_recording(r) },
		{ "assay_rings_processes", "Processes that own them.", r->set.n_processes },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		(void)strbuf_printf(text, "# HELP %s %s\n# TYPE %s gauge\n%s %" PRIu64 "\n",
				    rows[i].name, rows[i].help, rows[i].name, rows[i].name,
				    rows[i].value);
}

static void put_results(struct strbuf *text, const char *name, const char *help,
			const uint64_t counts[static RING_REFUSALS])
{
	size_t i;

	(void)strbuf_printf(text, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
	for (i = 0; i < RING_REFUSALS; i++)
		(void)strbuf_printf(text, "%s{result=\"%s\"} %" PRIu64 "\n", name,
				    ring_refusal_names[i], counts[i]);
}

static void put_counters(const struct rings *r, struct strbuf *text)
{
	put_results(text, "assay_rings_offered_total",
		    "Rings offered since assayd started, by outcome.", r->counts);
	put_results(text, "assay_rings_returned_total",
		    "Rings that the service manager kept across a restart, by outcome.",
		    r->returned);
	(void)strbuf_printf(text,
			    "# HELP assay_rings_dropped_total Operations that were not taken from "
			    "rings, by the reason.\n"
			    "# TYPE assay_rings_dropped_total counter\n"
			    "assay_rings_dropped_total{reason=\"torn\"} %" PRIu64 "\n"
			    "assay_rings_dropped_total{reason=\"absurd\"} %" PRIu64 "\n",
			    r->dropped.torn, r->dropped.absurd);
}

static int write_metrics(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(METRICS_MAX);
	CLEANUP(freep) char *dir = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/rings.prom", dir);
	const struct rings *r = context;
	struct err err = ERR_INIT;

	put_gauges(r, &text);
	put_counters(r, &text);
	if (file_replace(AT_FDCWD, path, strbuf_text(&text), text.len, &err) < 0)
		log_warning("%s", err.msg);
	return 0;
}

static void wake(sd_event_source *timer, uint64_t after_us)
{
	int enabled = SD_EVENT_OFF;

	if (sd_event_source_get_enabled(timer, &enabled) >= 0 && enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time(timer, clock_mono_us() + after_us);
	(void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void on_ended(void *context, enum ring_refusal why, const struct ring_peer *peer)
{
	const uint64_t now_us = clock_mono_us();
	struct rings *r = context;

	r->counts[why]++;
	wake(r->tell, TELL_US);
	if (why == RING_TAKEN)
		return;
	if (r->said_us[why] && now_us < r->said_us[why] + SAY_US) {
		r->unsaid[why]++;
		return;
	}
	log_warning("ring refused: process %ld of user %lu: %s reason=%s more=%" PRIu64,
		    (long)peer->pid, (unsigned long)peer->uid, ring_refusal_words[why],
		    ring_refusal_names[why], r->unsaid[why]);
	r->said_us[why] = now_us;
	r->unsaid[why] = 0;
}

static void on_returned(void *context, enum ring_refusal why, const struct ring_process *said)
{
	struct rings *r = context;

	r->returned[why]++;
	if (why != RING_TAKEN)
		log_warning("ring kept across the restart is released: process %ld of user %lu: %s "
			    "reason=%s",
			    (long)said->pid, (unsigned long)said->uid, ring_refusal_words[why],
			    ring_refusal_names[why]);
}

/* --- what to record --- */

static bool is_of(const struct ring_process *p, const char *job, int64_t run)
{
	return p->placed != TRACE_JOB && streq(p->place.job, job) && p->place.run == run;
}

static bool is_asked(const struct rings *r, const struct ring_process *p, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < r->n_asks; i++) {
		const struct ask *ask = &r->asks[i];

		if (now_us < ask->until_us && (!ask->job[0] || is_of(p, ask->job, ask->run)))
			return true;
	}
	return false;
}

struct schedule {
	bool sampling; /* sampling now */
	uint64_t turn, change_us;
};

static struct schedule schedule_now(const struct rings *r)
{
	const uint64_t real_us = clock_real_us(), every_us = r->config->rings_every_us;
	struct schedule s = { .turn = real_us / every_us };

	s.sampling = ring_rules_sampling(every_us, MIN(every_us / 2, SAMPLE_MAX_US), real_us,
					 &s.change_us);
	return s;
}

/* What to record of a process now. */
static uint32_t mask_of(const struct rings *r, const struct schedule *s,
			const struct ring_process *p, uint64_t now_us)
{
	if (is_asked(r, p, now_us))
		return RINGS_MASK_ASKED;
	if (r->config->rings_mode == RINGS_ON)
		return RINGS_MASK;
	return s->sampling && !ring_sample_is_over(p, s->turn) ? RINGS_MASK : 0;
}

/* Update each control page. */
static void set_masks(struct rings *r, const struct schedule *s)
{
	const uint64_t now_us = clock_mono_us(), now_ns = mono_ns();
	size_t i;

	for (i = 0; i < r->set.n_rings; i++) {
		struct ring_entry *ring = &r->set.rings[i];

		ring_set_mask(ring, mask_of(r, s, ring->process, now_us), now_ns);
	}
}

/* Returns when to look again. */
static uint64_t look(struct rings *r)
{
	const struct schedule s = schedule_now(r);
	const struct ring_sample_options options = { .turn = s.turn,
						     .on = s.sampling,
						     .steps = (unsigned)r->config->rings_steps,
						     .now_us = clock_mono_us(),
						     .now_ns = mono_ns() };

	ring_sample_look(&r->set, &options, r->traces, &r->dropped);
	set_masks(r, &s);
	return MIN(s.change_us, s.sampling ? RING_SAMPLE_LOOK_US : LOOK_US);
}

static void forget_asks(struct rings *r)
{
	const uint64_t now_us = clock_mono_us();
	size_t i = r->n_asks;

	while (i-- > 0) {
		if (now_us >= r->asks[i].until_us)
			r->asks[i] = r->asks[--r->n_asks];
	}
}

static int on_look(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct rings *r = context;
	const size_t n = r->set.n_rings, recording = n_recording(r);
	uint64_t again_us;

	ring_set_look(&r->set, clock_mono_us(), r->config->rings_hold_us);
	forget_asks(r);
	again_us = look(r);
	if (r->set.n_rings != n || n_recording(r) != recording)
		wake(r->tell, TELL_US);
	if (r->set.n_rings)
		wake(r->look, again_us);
	return 0;
}

void rings_ask(struct rings *r, const char *job, int64_t run, uint64_t for_us)
{
	struct schedule s;
	struct ask ask = { .run = run, .until_us = clock_mono_us() + MIN(for_us, RINGS_ASK_MAX_US) };
	size_t i;

	(void)snprintf(ask.job, sizeof(ask.job), "%s", job ? job : "");
	for (i = 0; i < r->n_asks; i++) {
		if (streq(r->asks[i].job, ask.job) && r->asks[i].run == run)
			break;
	}
	if (i == ASKS_MAX)
		i = 0; /* replace the oldest, which has had the most of its time */
	if (i == r->n_asks)
		r->n_asks++;
	r->asks[i] = ask;
	s = schedule_now(r);
	set_masks(r, &s);
}

/* --- reading --- */

static size_t find_all(const struct rings *r, const char *job, int64_t run,
		       struct ring_hang_ring *ret)
{
	size_t n = 0, i;

	for (i = 0; i < r->set.n_rings; i++) {
		const struct ring_entry *ring = &r->set.rings[i];

		if (!is_of(ring->process, job, run))
			continue;
		ret[n++] = (struct ring_hang_ring){ .rank = ring->process->place.rank,
						    .comm = &ring->comm,
						    .since_ns = ring->since_ns };
	}
	return n;
}

const struct ring_process *rings_next_gone(const struct rings *r, size_t *i)
{
	while (*i < r->set.n_processes) {
		const struct ring_process *p = r->set.processes[(*i)++];

		if (p->pidfd < 0 && p->placed != TRACE_JOB)
			return p;
	}
	return NULL;
}

/* The ring entry of this data. */
static struct ring_entry *entry_of(struct rings *r, const struct ring_hang_ring *one)
{
	size_t i;

	for (i = 0; i < r->set.n_rings && &r->set.rings[i].comm != one->comm; i++)
		;
	return &r->set.rings[i];
}

void rings_tell(struct rings *r, const char *job, int64_t run, json_t *groups, json_t *ranks)
{
	CLEANUP(freep)
	struct ring_hang_ring *all = xcalloc(r->set.n_rings + 1, sizeof(*all));
	CLEANUP(freep) struct ring_op *ops = xcalloc(RING_SLOTS, sizeof(*ops));
	const size_t n = find_all(r, job, run, all);
	size_t i;

	for (i = 0; i < n; i++) {
		const uint64_t now_ns = mono_ns();

		all[i].n_ops = ring_set_read(entry_of(r, &all[i]), 0, now_ns, ops, &r->dropped);
		all[i].ops = ops;
		ring_hang_add(all, n, now_ns, groups, ranks);
		all[i].ops = NULL;
		all[i].n_ops = 0;
	}
	wake(r->tell, TELL_US);
}

double rings_standing_s(struct rings *r, const char *job, int64_t run, int64_t rank)
{
	CLEANUP(freep)
	struct ring_hang_ring *all = xcalloc(r->set.n_rings + 1, sizeof(*all));
	CLEANUP(freep) struct ring_op *ops = xcalloc(RING_SLOTS, sizeof(*ops));
	const size_t n = find_all(r, job, run, all);
	uint64_t moved_ns = 0, now_ns = 0;
	bool any = false;
	size_t i;

	for (i = 0; i < n; i++) {
		bool in_flight = false;

		if (all[i].rank != rank || !all[i].since_ns)
			continue;
		now_ns = mono_ns();
		all[i].n_ops = ring_set_read(entry_of(r, &all[i]), 0, now_ns, ops, &r->dropped);
		all[i].ops = ops;
		moved_ns = MAX(moved_ns, ring_hang_moved_ns(&all[i], now_ns, &in_flight));
		any |= in_flight;
	}
	return any && moved_ns ? (double)(now_ns - moved_ns) / NS_PER_S : 0;
}

/* --- receiving --- */

static enum ring_refusal on_take(void *context, const struct ring_peer *peer, int fd,
				 int *ret_control_fd)
{
	const struct ring_owner owner = { peer->pid, peer->uid, peer->pidfd };
	struct rings *r = context;
	const enum ring_refusal why = ring_set_add(&r->set, &owner, fd, ret_control_fd);
	const struct schedule s = schedule_now(r);
	const struct ring_entry *ring;

	if (why != RING_TAKEN)
		return why;
	ring = &r->set.rings[r->set.n_rings - 1];
	if (ring->process->n_rings == 1)
		log_info("rings of a rank: process=%ld job=%s run=%" PRId64 " rank=%" PRId64,
			 (long)peer->pid, ring->process->place.job, ring->process->place.run,
			 ring->process->place.rank);
	set_masks(r, &s);
	wake(r->look, RING_SAMPLE_LOOK_US);
	return why;
}

/* --- life cycle --- */

/* Take back the rings kept over the restart. */
static void adopt(struct rings *r)
{
	ring_store_adopt(&r->set, r->kept, r->n_kept, on_returned, r);
	ring_set_look(&r->set, clock_mono_us(), r->config->rings_hold_us);
	if (r->set.n_rings)
		log_info("rings from before the restart: rings=%zu processes=%zu", r->set.n_rings,
			 r->set.n_processes);
	ring_store_free(TAKE(r->kept), r->n_kept);
	r->n_kept = 0;
}

void rings_set(struct rings *r, bool on)
{
	const struct ring_socket_options options = { .take = on_take,
						     .ended = on_ended,
						     .context = r };
	const struct assayd_config *c = r->config;
	const struct schedule s = schedule_now(r);

	r->set.limits = (struct ring_limits){ .process = (unsigned)c->rings_of_process,
					      .user = (unsigned)c->rings_of_user,
					      .bytes = c->rings_bytes };
	on = on && c->rings_mode != RINGS_OFF;
	if (r->kept)
		adopt(r);
	if (on && !r->socket) {
		r->socket = ring_socket_new(r->event, &options);
		wake(r->tell, 0);
	} else if (!on && (r->socket || r->set.n_rings)) {
		ring_socket_free(TAKE(r->socket));
		ring_set_release(&r->set);
		wake(r->tell, 0);
	}
	set_masks(r, &s);
	if (r->set.n_rings)
		wake(r->look, RING_SAMPLE_LOOK_US);
}

struct rings *rings_new(struct sd_event *event, const struct assayd_config *config,
			struct traces *traces)
{
	struct rings *r = xcalloc(1, sizeof(*r));

	r->event = sd_event_ref(event);
	r->config = config;
	r->traces = traces;
	r->set.keep = ring_store_keep;
	r->set.let_go = ring_store_let_go;
	r->n_kept = ring_store_take(&r->kept);
	if (sd_event_add_time(event, &r->look, CLOCK_MONOTONIC, 0, LOOK_ACCURACY_US, on_look, r) <
		    0 ||
	    sd_event_source_set_enabled(r->look, SD_EVENT_OFF) < 0 ||
	    sd_event_add_time(event, &r->tell, CLOCK_MONOTONIC, 0, 0, write_metrics, r) < 0 ||
	    sd_event_source_set_enabled(r->tell, SD_EVENT_OFF) < 0)
		log_error("cannot create a timer: job rings are not read");
	return r;
}

void rings_free(struct rings *r)
{
	if (!r)
		return;
	ring_socket_free(r->socket);
	ring_set_leave(&r->set, mono_ns());
	ring_store_free(r->kept, r->n_kept);
	(void)sd_event_source_disable_unref(r->look);
	(void)sd_event_source_disable_unref(r->tell);
	(void)sd_event_unref(r->event);
	free(r);
}
