/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_ras.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_ras_answer.h"
#include "lib/hang/hang_ras_json.h"
#include "lib/hang/hang_ras_text.h"

/* A process of the job, with the global rank of its device. */
struct placed {
	const struct hang_ras_member *member;
	uint32_t rank;
};

struct reading {
	struct hang_ras_answer answer;
	const struct hang_ras_known *known;
	struct hang_case *c;
	struct hang_ras_told told;
	const struct hang_ras_comm *world; /* numbers the ranks of the job; NULL: none is known to */
	struct placed *placed;		   /* owned; [n_placed] of its members, sorted */
	size_t n_placed;
};

static void reading_release(struct reading *r)
{
	hang_ras_answer_release(&r->answer);
	free(r->placed);
}

/* --- whose communicator it is --- */

/* The local process of this job to which the member belongs; NULL. */
static const struct hang_ras_process *process_of(const struct hang_ras_known *known,
						 const struct hang_ras_member *m)
{
	bool here = false;
	size_t i;

	for (i = 0; i < known->n_hosts && !here; i++)
		here = streq(known->hosts[i], m->host);
	for (i = 0; here && i < known->n_processes; i++) {
		if (known->processes[i].pid == m->pid)
			return &known->processes[i];
	}
	return NULL;
}

static bool is_local(const struct reading *r, const struct hang_ras_comm *comm)
{
	size_t i;

	for (i = 0; r->known && i < comm->n; i++) {
		if (process_of(r->known, &comm->members[i]))
			return true;
	}
	return !r->known;
}

static int compare_placed(const void *a, const void *b)
{
	const struct hang_ras_member *x = ((const struct placed *)a)->member;
	const struct hang_ras_member *y = ((const struct placed *)b)->member;
	const int order = strcmp(x->host, y->host);

	if (order)
		return order;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

static bool is_named(const struct hang_ras_member *m)
{
	return m->host[0] && m->pid != HANG_UNKNOWN;
}

static int64_t place_of(const struct reading *r, const struct hang_ras_member *m)
{
	const struct placed key = { .member = m };
	const struct placed *found =
		is_named(m) && r->n_placed
			? bsearch(&key, r->placed, r->n_placed, sizeof(*r->placed), compare_placed)
			: NULL;

	return found ? (int64_t)found->rank : HANG_UNKNOWN;
}

/* True if it numbers the processes known here as they number themselves, each once. */
static bool agrees(const struct reading *r, const struct hang_ras_comm *comm)
{
	size_t i, found = 0;

	for (i = 0; r->known && i < comm->n; i++) {
		const struct hang_ras_process *p = process_of(r->known, &comm->members[i]);

		if (p && p->rank != comm->members[i].rank)
			return false;
		found += p != NULL;
	}
	return !r->known || (found > 0 && found <= r->known->n_processes);
}

static size_t world_size(const struct reading *r)
{
	size_t i, size = 0;

	if (r->known && r->known->world > 0)
		return (size_t)r->known->world;
	for (i = 0; i < r->answer.n_comms; i++)
		size = MAX(size, r->answer.comms[i].size);
	return size;
}

/* Returns false if two members are the same device of one process. */
static bool place_members(struct reading *r, const struct hang_ras_comm *comm)
{
	size_t i;

	free(r->placed);
	r->placed = xcalloc(comm->n + 1, sizeof(*r->placed));
	r->n_placed = 0;
	for (i = 0; i < comm->n; i++) {
		if (is_named(&comm->members[i]))
			r->placed[r->n_placed++] =
				(struct placed){ &comm->members[i], comm->members[i].rank };
	}
	qsort(r->placed, r->n_placed, sizeof(*r->placed), compare_placed);
	for (i = 1; i < r->n_placed; i++) {
		if (compare_placed(&r->placed[i - 1], &r->placed[i]) == 0)
			return false;
	}
	return true;
}

/* True if another communicator of all ranks numbers a process differently. Then neither counts. */
static bool contradicts(const struct reading *r, const struct hang_ras_comm *comm)
{
	size_t i;

	for (i = 0; i < comm->n; i++) {
		const int64_t rank = place_of(r, &comm->members[i]);

		if (rank != HANG_UNKNOWN && rank != (int64_t)comm->members[i].rank)
			return true;
	}
	return false;
}

static void forget_world(struct reading *r)
{
	r->world = NULL;
	r->n_placed = 0;
}

/* True if no member of the job is known outside of it: two halves are not a world. */
static bool is_all(const struct reading *r)
{
	size_t i, k;

	for (i = 0; i < r->answer.n_comms; i++) {
		const struct hang_ras_comm *comm = &r->answer.comms[i];

		/* They may be the unnamed members of the world. */
		if (!is_local(r, comm) ||
		    (r->n_placed < r->world->size && comm->size < r->world->size))
			continue;
		for (k = 0; k < comm->n; k++) {
			if (is_named(&comm->members[k]) &&
			    place_of(r, &comm->members[k]) == HANG_UNKNOWN)
				return false;
		}
	}
	return true;
}

static void find_world(struct reading *r)
{
	const size_t size = world_size(r);
	size_t i;

	for (i = 0; i < r->answer.n_comms; i++) {
		const struct hang_ras_comm *comm = &r->answer.comms[i];

		if (comm->size != size || !is_local(r, comm) || !agrees(r, comm))
			continue;
		if (!r->world && place_members(r, comm)) {
			r->world = comm;
		} else if (!r->world || contradicts(r, comm)) {
			forget_world(r);
			return;
		}
	}
	if (r->world && !is_all(r))
		forget_world(r);
}

static bool is_ours(const struct reading *r, const struct hang_ras_comm *comm)
{
	size_t i;

	if (is_local(r, comm))
		return true;
	for (i = 0; i < comm->n; i++) {
		if (place_of(r, &comm->members[i]) != HANG_UNKNOWN)
			return true;
	}
	return false;
}

static bool is_ready(const struct hang_ras_comm *comm)
{
	size_t i;

	for (i = 0; i < comm->n; i++) {
		if (comm->members[i].state == HANG_RAS_UNREADY)
			return false;
	}
	return true;
}

/* --- contents --- */

/* The global rank of a member; HANG_UNKNOWN. */
static int64_t rank_of(const struct reading *r, const struct hang_ras_comm *comm,
		       const struct hang_ras_member *m)
{
	const struct hang_ras_process *p = r->known ? process_of(r->known, m) : NULL;
	const int64_t rank = comm == r->world ? (int64_t)m->rank : place_of(r, m);

	return rank == HANG_UNKNOWN && p ? p->rank : rank;
}

static int64_t sum_of(const struct hang_ras_member *m)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < HANG_RAS_FUNCTIONS; i++)
		sum += m->counts[i];
	return sum;
}

static bool is_comparable(const struct hang_ras_member *m)
{
	return m->counted && !m->unclear && m->state == HANG_RAS_RUNNING;
}

static void say_state(const struct reading *r, const struct hang_ras_comm *comm,
		      const struct hang_ras_member *m, int64_t rank)
{
	static const char *const words[] = {
		[HANG_RAS_RUNNING] = "NCCL reports an error for it",
		[HANG_RAS_UNREADY] = "",
		[HANG_RAS_LEFT] = "its process answers, but has left the communicator",
		[HANG_RAS_UNRESPONSIVE] = "its process did not answer RAS",
		[HANG_RAS_DEAD] = "RAS can no longer reach its process",
	};
	char who[HANG_NAME_SIZE];

	if (m->state == HANG_RAS_RUNNING && !m->failed)
		return;
	if (rank == HANG_UNKNOWN)
		(void)snprintf(who, sizeof(who), "an unknown rank (%u of %.64s)", m->rank, comm->id);
	else
		(void)snprintf(who, sizeof(who), "rank %" PRId64, rank);
	if (m->pid == HANG_UNKNOWN)
		hang_case_missing(r->c, "%s: %s", who, words[m->state]);
	else
		hang_case_missing(r->c, "%s: %s (process %" PRId64 " at %s)", who, words[m->state],
				  m->pid, m->host);
}

static int put_rank(const struct reading *r, const struct hang_ras_member *m, int64_t rank,
		    struct err *err)
{
	struct hang_rank *put;
	int result = hang_case_rank(r->c, rank, &put, err);

	if (result < 0)
		return result;
	put->sources |= HANG_RAS;
	if (put->pid == HANG_UNKNOWN)
		put->pid = m->pid;
	if (!put->gpu[0] && m->gpu != HANG_UNKNOWN)
		(void)snprintf(put->gpu, sizeof(put->gpu), "gpu %" PRId64, m->gpu);
	return 0;
}

/* For the ranks that are furthest, per function: the least and the most launches. */
struct front {
	int64_t sum, least[HANG_RAS_FUNCTIONS], most[HANG_RAS_FUNCTIONS];
};

static struct front front_of(const struct hang_ras_comm *comm)
{
	struct front f = { .sum = -1 };
	size_t i, k;

	for (i = 0; i < comm->n; i++) {
		const struct hang_ras_member *m = &comm->members[i];
		const int64_t sum = sum_of(m);

		if (!is_comparable(m) || sum < f.sum)
			continue;
		for (k = 0; k < HANG_RAS_FUNCTIONS; k++) {
			f.least[k] = sum > f.sum ? m->counts[k] : MIN(f.least[k], m->counts[k]);
			f.most[k] = sum > f.sum ? m->counts[k] : MAX(f.most[k], m->counts[k]);
		}
		f.sum = sum;
	}
	return f;
}

/*
 * The function of which a rank has launched one more than others that are as far; -1: none, or
 * several. A rank behind with more of one function than all that are ahead also diverged.
 */
static int odd_function(const struct front *f, const struct hang_ras_member *m)
{
	const bool ahead = sum_of(m) == f->sum;
	int odd = -1;
	size_t k;

	for (k = 0; k < HANG_RAS_FUNCTIONS; k++) {
		if (m->counts[k] <= (ahead ? f->least[k] : f->most[k]))
			continue;
		if (odd >= 0 || (ahead && m->counts[k] != f->least[k] + 1))
			return -1;
		odd = (int)k;
	}
	return odd;
}

static int put_odd(const struct reading *r, const struct front *f, const struct hang_ras_member *m,
		   uint32_t rank, uint32_t group, struct err *err)
{
	const int odd = odd_function(f, m);
	struct hang_op op = {
		.rank = rank,
		.group = group,
		.seq = sum_of(m),
		.peer = HANG_UNKNOWN,
		.count = HANG_UNKNOWN,
		.count_out = HANG_UNKNOWN,
		.for_s = NAN,
		.state = HANG_OP_UNKNOWN,
	};

	if (odd < 0 || r->answer.text)
		return 0;
	if (op.seq < f->sum) {
		hang_case_missing(r->c,
				  "rank %u has launched more %s than ranks that are ahead of it: "
				  "it took another path",
				  rank, hang_ras_operations[odd]);
		return 0;
	}
	(void)snprintf(op.name, sizeof(op.name), "%s", hang_ras_operations[odd]);
	return hang_case_op(r->c, &op, err);
}

static int put_member(struct reading *r, const struct front *f, const struct hang_ras_comm *comm,
		      const struct hang_ras_member *m, uint32_t group, struct err *err)
{
	const int64_t rank = rank_of(r, comm, m);
	struct hang_position position = {
		.group = group,
		.enqueued = sum_of(m),
		.started = HANG_UNKNOWN,
		.completed = HANG_UNKNOWN,
	};
	int result;

	if (r->known && r->known->only_known && !process_of(r->known, m))
		return 0;
	say_state(r, comm, m, rank);
	r->told.unplaced += rank == HANG_UNKNOWN;
	if (rank == HANG_UNKNOWN || !is_comparable(m))
		return 0;
	result = put_rank(r, m, rank, err);
	if (result < 0)
		return result;
	position.rank = (uint32_t)rank;
	if (position.enqueued == 0)
		position.enqueued = HANG_NONE;
	result = hang_case_position(r->c, &position, err);
	return result == 0 ? put_odd(r, f, m, position.rank, group, err) : result;
}

/* Its group, with its known members. -EINVAL, with a note: a member is listed twice. */
static int put_group(const struct reading *r, const struct hang_ras_comm *comm, uint32_t *ret,
		     struct err *err)
{
	CLEANUP(freep) uint32_t *ranks = malloc(comm->size * sizeof(*ranks));
	char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	size_t i;
	int result;

	if (!ranks)
		return err_set(err, ENOMEM, "RAS: no memory for %zu ranks", comm->size);
	for (i = 0; i < comm->size; i++)
		ranks[i] = comm == r->world ? (uint32_t)i : HANG_NOBODY;
	for (i = 0; i < comm->n; i++) {
		const int64_t rank = rank_of(r, comm, &comm->members[i]);

		if (rank != HANG_UNKNOWN)
			ranks[comm->members[i].rank] = (uint32_t)rank;
	}
	(void)snprintf(name, sizeof(name), "ras:%s", comm->id);
	(void)snprintf(desc, sizeof(desc), "communicator of %zu ranks", comm->size);
	result = hang_case_group(r->c, name, desc, ranks, comm->size, ret, err);
	if (result == -EINVAL)
		hang_case_missing(r->c, "RAS: two ranks of %.64s are the same: left out", comm->id);
	return result;
}

static int put_comm(struct reading *r, const struct hang_ras_comm *comm, struct err *err)
{
	const struct front f = front_of(comm);
	const bool ready = is_ready(comm);
	uint32_t group = 0;
	size_t i;
	int result = put_group(r, comm, &group, err);

	r->told.taken += ready;
	r->told.unready += !ready;
	/* While it is created or destroyed nothing compares, but its members may be held up. */
	for (i = 0; result == 0 && i < comm->n && ready; i++)
		result = put_member(r, &f, comm, &comm->members[i], group, err);
	return result == -EINVAL ? 0 : result;
}

/* Text only counts these communicators: neither their members nor their progress are known. */
static int put_unnamed(const struct reading *r, struct err *err)
{
	uint32_t group;

	if (r->answer.n_unnamed == 0)
		return 0;
	return hang_case_group(r->c, "ras:unnamed", "communicators without a name", NULL, 2, &group,
			       err);
}

static int put_all(struct reading *r, struct err *err)
{
	size_t i;
	int result = 0;

	find_world(r);
	for (i = 0; result == 0 && i < r->answer.n_comms; i++) {
		const struct hang_ras_comm *comm = &r->answer.comms[i];

		if (is_ours(r, comm))
			result = put_comm(r, comm, err);
		else
			r->told.strangers++;
	}
	return result == 0 ? put_unnamed(r, err) : result;
}

static void say_left_out(const struct reading *r)
{
	const struct hang_ras_told *told = &r->told;

	if (told->strangers)
		hang_case_missing(
			r->c, "RAS: %zu communicators belong to another or an unknown job: left out",
			told->strangers);
	if (told->unready)
		hang_case_missing(r->c,
				  "RAS: %zu communicators are being created or destroyed: left out",
				  told->unready);
	if (told->unplaced)
		hang_case_missing(
			r->c, "RAS: %zu ranks have no known number: no communicator has all ranks",
			told->unplaced);
	if (r->answer.timeouts)
		hang_case_missing(r->c, "RAS: %u of its questions were not answered in time",
				  r->answer.timeouts);
}

int hang_ras_read(const char *text, size_t size, const struct hang_ras_known *known,
		  struct hang_case *c, struct hang_ras_told *ret_told, struct err *err)
{
	CLEANUP(reading_release) struct reading r = { .known = known, .c = c };
	size_t skip = 0;
	int result;

	if (size > HANG_RAS_ANSWER_MAX)
		return err_set(err, E2BIG, "RAS: an answer of more than %d MiB",
			       HANG_RAS_ANSWER_MAX >> 20);
	while (skip < size && strchr(" \t\r\n", text[skip]) && text[skip])
		skip++;
	if (skip < size && text[skip] == '{')
		result = hang_ras_json_read(text + skip, size - skip, &r.answer, err);
	else
		result = hang_ras_text_read(text + skip, size - skip, &r.answer, err);
	if (result == 0)
		result = put_all(&r, err);
	if (result < 0)
		return result;
	if (known && r.told.taken + r.told.unready == 0 && r.told.strangers > 0)
		return err_set(err, ESRCH,
			       "RAS: the answer is from another job: none of its %zu communicators "
			       "has a process of this one",
			       r.told.strangers);
	say_left_out(&r);
	(void)snprintf(r.told.version, sizeof(r.told.version), "%s", r.answer.version);
	r.told.text = r.answer.text;
	r.told.mended = r.answer.mended;
	*ret_told = r.told;
	return 0;
}
