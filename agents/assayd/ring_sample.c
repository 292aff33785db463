/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/assayd/gzip.h"
#include "agents/assayd/ring_window.h"
#include "agents/assayd/trace_queue.h"
#include "agents/assayd/traces.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/* --- a part is sent --- */

static int keep(const char *bytes, size_t n, int *ret_fd)
{
	CLEANUP(closep) int fd = memfd_create("assay-part", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : file_write_all(fd, bytes, n);

	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

static int pack(const struct strbuf *text, struct trace_queue_part *part)
{
	CLEANUP(freep) char *packed = NULL;
	size_t n = 0;

	if (gzip_pack(strbuf_text(text), text->len, &packed, &n) < 0) {
		part->size = text->len;
		return keep(strbuf_text(text), text->len, &part->fd);
	}
	part->size = n;
	return keep(packed, n, &part->fd);
}

static void send(struct traces *traces, const struct trace_place *place,
		 const struct ring_part *made)
{
	struct trace_queue_part part = { .run = place->run,
					 .rank = place->rank,
					 .step = made->step,
					 .part = made->part,
					 .of = made->of };

	memcpy(part.job, place->job, sizeof(part.job));
	if (pack(&made->text, &part) < 0) {
		log_warning("no memory for a part of a trace");
		return;
	}
	log_info("sample of a rank: job=%s run=%" PRId64 " rank=%" PRId64 " step=%" PRId64
		 " steps=%zu collectives=%zu bytes=%zu",
		 place->job, place->run, place->rank, made->step, made->n_steps,
		 made->n_collectives, part.size);
	traces_add(traces, &part, made->first_s, made->last_s);
}

/* --- samples --- */

static struct ring_window *window_of(struct ring_process *p)
{
	if (!p->of_user)
		p->of_user = ring_window_new();
	return p->of_user;
}

static void forget(struct ring_set *set)
{
	size_t i;

	for (i = 0; i < set->n_processes; i++) {
		if (set->processes[i]->of_user)
			ring_window_clear(set->processes[i]->of_user);
	}
}

/* Ranks that do not state their job and shape have no trace parts. */
static bool is_sampled(const struct ring_process *p)
{
	return p->placed == TRACE_TAKEN && !p->ended_us;
}

static void gather(struct ring_set *set, const struct ring_sample_options *o,
		   struct ring_read_counts *counts)
{
	CLEANUP(freep) struct ring_op *ops = xcalloc(RING_SLOTS, sizeof(*ops));
	size_t i, n;

	for (i = 0; i < set->n_rings; i++) {
		struct ring_entry *ring = &set->rings[i];
		struct ring_window *w;

		if (!ring->since_ns || !is_sampled(ring->process))
			continue;
		w = window_of(ring->process);
		ring_window_turn(w, o->turn);
		if (w->over)
			continue;
		n = ring_set_read(ring, ring_window_from(w, ring->identity.inode), o->now_ns, ops,
				  counts);
		ring_window_add(w, ring->identity.inode, &ring->comm, ops, n, ring->since_ns);
	}
}

/* One per look: finding steps takes a while, and the event loop has other work. */
static void attempt(struct ring_set *set, const struct ring_sample_options *o, struct traces *traces)
{
	struct ring_process *found = NULL;
	struct err err = ERR_INIT;
	struct ring_part part;
	size_t i;
	int r;

	for (i = 0; i < set->n_processes; i++) {
		struct ring_process *p = set->processes[i];
		const struct ring_window *w = p->of_user;

		if (!w || !is_sampled(p) || !ring_window_is_due(w, o->now_us))
			continue;
		if (!found || w->attempted_us < ((struct ring_window *)found->of_user)->attempted_us)
			found = p;
	}
	if (!found)
		return;
	r = ring_window_make(found->of_user, &found->place, o->steps, o->now_us, &part, &err);
	if (r == 0) {
		send(traces, &found->place, &part);
		ring_part_release(&part);
	} else if (r != -EAGAIN && r != -ENOTUNIQ) {
		log_warning("no sample from a rank: job=%s rank=%" PRId64 ": %s", found->place.job,
			    found->place.rank, err.msg);
	}
}

void ring_sample_look(struct ring_set *set, const struct ring_sample_options *options,
		      struct traces *traces, struct ring_read_counts *counts)
{
	set->forget = ring_window_free;
	if (!options->on) {
		forget(set);
		return;
	}
	gather(set, options, counts);
	attempt(set, options, traces);
}

bool ring_sample_is_over(const struct ring_process *p, uint64_t turn)
{
	const struct ring_window *w = p->of_user;

	return !is_sampled(p) || (w && w->turn == turn && w->over);
}
