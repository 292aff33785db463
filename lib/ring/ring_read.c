/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_read.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/ring/ring_func.h"

enum {
	HEAD_WORDS = sizeof(struct ring_head) / 8,
	SLOT_WORDS = sizeof(struct ring_slot) / 8,
	ELEMENT_MAX = 64, /* bytes */
};

_Static_assert(offsetof(struct ring_slot, stamp) == 0, "the first word is the stamp");
_Static_assert(sizeof(struct ring_head) % 8 == 0 && sizeof(struct ring_slot) % 8 == 0, "words");

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/*
 * Copies the last word first: what is written last for an operation (that it is done, how many have
 * stopped, a stop) comes after what is written before it, so a copy never has an end without its
 * beginning.
 */
static void copy(const uint64_t *from, size_t n, uint64_t *to)
{
	while (n-- > 0)
		to[n] = load(&from[n]);
}

/* --- the head --- */

static int check_layout(const struct ring_head *h, struct err *err)
{
	if (h->magic != RING_MAGIC || h->version != RING_VERSION)
		return err_set(err, EPROTO, "it is not a ring of version %d", RING_VERSION);
	if (h->head_size != RING_HEAD_SIZE || h->slot_size != RING_SLOT_SIZE ||
	    h->n_slots != RING_SLOTS)
		return err_set(err, EPROTO, "the sizes of its parts are not those of a ring");
	/* Version 3 of the interface gives no counts, and at first nothing at all. */
	if (h->n_ranks < 0 || h->n_ranks > RING_READ_RANKS_MAX || h->rank < -1 ||
	    h->rank >= (h->n_ranks ? h->n_ranks : RING_READ_RANKS_MAX) || h->n_nodes < 0 ||
	    h->n_nodes > h->n_ranks)
		return err_set(err, EPROTO, "there is no rank %d of %d on %d hosts", h->rank,
			       h->n_ranks, h->n_nodes);
	return 0;
}

static bool is_printable(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n && text[i] >= ' ' && text[i] <= '~'; i++)
		;
	return i == n;
}

static void copy_name(const char *from, char ret[static RING_NAME_SIZE])
{
	const size_t n = strnlen(from, RING_NAME_SIZE);

	ret[0] = '\0';
	if (n == RING_NAME_SIZE || !is_printable(from, n))
		return;
	memcpy(ret, from, n + 1);
}

int ring_read_head(const void *memory, struct ring_comm *ret, struct err *err)
{
	uint64_t words[HEAD_WORDS];
	struct ring_head head, *h = &head;
	int r;

	copy(memory, HEAD_WORDS, words);
	memcpy(&head, words, sizeof(head));
	r = check_layout(h, err);
	if (r < 0)
		return r;
	*ret = (struct ring_comm){
		.comm_id = h->comm_id,
		.n_nodes = h->n_nodes,
		.n_ranks = h->n_ranks,
		.rank = h->rank,
		.api = h->api,
		.nccl = h->nccl,
		.mono_ns = h->mono_ns,
		.real_ns = h->real_ns,
		.begun = h->next,
		.bad_stamps = h->bad_stamps,
		.late_calls = h->late_calls,
		.lost = h->lost,
		.beat_ns = h->beat_ns,
		.mask = h->mask,
		.since_ns = h->since_ns,
		.finalized = h->finalized != 0,
	};
	copy_name(h->name, ret->name);
	return 0;
}

/* --- operations --- */

/* Only the stamp before and after shows that the copy is consistent. */
static bool copy_slot(const uint64_t *slot, uint64_t number, struct ring_slot *ret)
{
	uint64_t words[SLOT_WORDS];
	int i;

	for (i = 0; i < RING_READ_TRIES; i++) {
		if (load(slot) != number + 1)
			continue;
		copy(slot, SLOT_WORDS, words);
		if (load(slot) != number + 1)
			continue;
		memcpy(ret, words, sizeof(*ret));
		return true;
	}
	return false;
}

static bool is_wait(unsigned wait)
{
	return wait == RING_WAIT_NONE ||
	       (wait >= RING_WAIT_SEND_GPU && wait <= RING_WAIT_RECV_GPU) ||
	       wait == RING_WAIT_SEND_PEER;
}

static bool are_numbers(const struct ring_slot *s)
{
	const unsigned known = RING_GRAPH | RING_NO_GPU | RING_STAMP_BAD | RING_DONE;

	return s->func < RING_FUNCS && is_wait(s->wait) && !(s->flags & ~known) && s->peer >= -1 &&
	       s->peer < RING_READ_RANKS_MAX && s->started <= RING_CHANNELS &&
	       s->stopped <= s->started && (!(s->flags & RING_DONE) || s->stopped == s->started) &&
	       s->element_size <= ELEMENT_MAX && s->count <= RING_READ_BYTES_MAX &&
	       s->count * s->element_size <= RING_READ_BYTES_MAX && s->seq <= INT64_MAX;
}

/* True if a stop has a start before it. 0: none. */
static bool is_span(uint64_t start, uint64_t stop)
{
	return !stop || (start && start <= stop && stop - start <= RING_READ_LONGEST_NS);
}

static bool are_times(const struct ring_slot *s, uint64_t now_ns)
{
	const uint64_t most = now_ns + RING_READ_AHEAD_NS;

	return s->enqueued_ns && s->enqueued_ns <= most && s->host_start_ns <= most &&
	       s->host_stop_ns <= most && s->wait_ns <= most &&
	       (!s->host_start_ns || s->host_start_ns >= s->enqueued_ns) &&
	       is_span(s->host_start_ns, s->host_stop_ns) &&
	       is_span(s->gpu_start_ns, s->gpu_stop_ns);
}

static bool name_of(const struct ring_slot *s, char ret[static sizeof(s->func_name)])
{
	const char *name = s->func == RING_OTHER ? s->func_name : ring_func_names[s->func];
	const size_t n = strnlen(name, sizeof(s->func_name));

	if (n == sizeof(s->func_name) || !is_printable(name, n))
		return false;
	memcpy(ret, name, n + 1);
	return true;
}

static bool check(const struct ring_slot *s, uint64_t number, uint64_t now_ns, struct ring_op *ret)
{
	if (!are_numbers(s) || !are_times(s, now_ns) || !name_of(s, ret->name))
		return false;
	ret->number = number;
	ret->seq = s->seq;
	ret->bytes = s->count * s->element_size;
	ret->enqueued_ns = s->enqueued_ns;
	ret->host_start_ns = s->host_start_ns;
	ret->host_stop_ns = s->host_stop_ns;
	ret->gpu_start_ns = s->gpu_start_ns;
	ret->gpu_stop_ns = s->gpu_stop_ns;
	ret->wait_ns = s->wait_ns;
	ret->peer = s->peer;
	ret->channels = s->channels;
	ret->started = s->started;
	ret->stopped = s->stopped;
	ret->func = s->func;
	ret->wait = s->wait;
	ret->flags = s->flags;
	return true;
}

size_t ring_read_ops(const void *memory, uint64_t from, uint64_t now_ns,
		     struct ring_op ret[static RING_SLOTS], struct ring_read_counts *counts)
{
	const uint64_t *words = memory;
	const uint64_t next = load(&words[offsetof(struct ring_head, next) / 8]);
	uint64_t number = next > RING_SLOTS ? next - RING_SLOTS : 0;
	size_t n = 0;

	for (number = MAX(number, from); number < next; number++) {
		const size_t at = RING_HEAD_SIZE + (size_t)(number % RING_SLOTS) * RING_SLOT_SIZE;
		struct ring_slot copied;

		if (!copy_slot(&words[at / 8], number, &copied))
			counts->torn++;
		else if (!check(&copied, number, now_ns, &ret[n]))
			counts->absurd++;
		else
			n++;
	}
	return n;
}
