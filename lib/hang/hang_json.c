/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_text.h"
#include "lib/json/json.h"

enum {
	XID_MAX = 9999,
	WAIT_MAX = 255,
	RANK_LISTED_MAX = 4 * HANG_RANKS_MAX, /* a rank may be listed again */
};

/* --- tables of plain members ------------------------------------------------- */

struct text_row {
	const char *key;
	size_t offset, size;
};
struct number_row {
	const char *key;
	size_t offset;
};

#define TEXT(type, key, member)                                                        \
	{                                                                              \
		key, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
	}
#define NUMBER(type, key, member)                  \
	{                                          \
		key, offsetof(struct type, member) \
	}

static const struct text_row head_texts[] = {
	TEXT(hang_head, "node", node),
	TEXT(hang_head, "boot_id", boot_id),
	TEXT(hang_head, "job", job),
};
static const struct text_row process_texts[] = {
	TEXT(hang_rank, "wchan", wchan),
	TEXT(hang_rank, "syscall", syscall),
	TEXT(hang_rank, "where", where),
};
static const struct text_row op_texts[] = {
	TEXT(hang_op, "op", name),
	TEXT(hang_op, "dtype", dtype),
};
static const struct number_row position_numbers[] = {
	NUMBER(hang_position, "enqueued", enqueued),
	NUMBER(hang_position, "started", started),
	NUMBER(hang_position, "completed", completed),
};
static const struct number_row op_numbers[] = {
	NUMBER(hang_op, "seq", seq),
	NUMBER(hang_op, "peer", peer),
	NUMBER(hang_op, "count", count),
	NUMBER(hang_op, "count_out", count_out),
};
static const struct number_row process_reals[] = { NUMBER(hang_rank, "for_s", process_s) };
static const struct number_row op_reals[] = { NUMBER(hang_op, "for_s", for_s) };
static const struct number_row head_reals[] = { NUMBER(hang_head, "age_s", age_s) };
static const struct number_row device_reals[] = {
	NUMBER(hang_rank, "util", gpu_util),
	NUMBER(hang_rank, "power", gpu_power),
	NUMBER(hang_rank, "rdma_bytes_s", rdma_bytes_s),
};

/* --- decoding ---------------------------------------------------------------- */

static int no_memory(const struct jval *v, struct err *err)
{
	return err_set(err, ENOMEM, "%s: there is no memory for it", v->file);
}

static bool is_absent(const struct jval *v)
{
	return !v->value || json_is_null(v->value);
}

static int take_texts(const struct jval *object, const struct text_row *rows, size_t n, void *out,
		      struct err *err)
{
	struct jval v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = jval_get(object, rows[i].key);
		if (is_absent(&v))
			continue;
		if (!json_is_string(v.value))
			return jval_fail(&v, err, "must be a string");
		hang_text_take((char *)out + rows[i].offset, rows[i].size,
			       json_string_value(v.value), json_string_length(v.value));
	}
	return 0;
}

/* An integer from -1 up; absent: unchanged. */
static int take_number(const struct jval *v, int64_t *number, struct err *err)
{
	if (is_absent(v))
		return 0;
	if (!json_is_integer(v->value) || json_integer_value(v->value) < HANG_NONE)
		return jval_fail(v, err, "must be a whole number, at least -1");
	*number = json_integer_value(v->value);
	return 0;
}

static int take_numbers(const struct jval *object, const struct number_row *rows, size_t n,
			void *out, struct err *err)
{
	struct jval v;
	size_t i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		v = jval_get(object, rows[i].key);
		r = take_number(&v, (int64_t *)(void *)((char *)out + rows[i].offset), err);
	}
	return r;
}

static int take_reals(const struct jval *object, const struct number_row *rows, size_t n, void *out,
		      struct err *err)
{
	struct jval v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = jval_get(object, rows[i].key);
		if (is_absent(&v))
			continue;
		if (!json_is_number(v.value) || json_number_value(v.value) < 0)
			return jval_fail(&v, err, "must be a non-negative number");
		*(double *)(void *)((char *)out + rows[i].offset) = json_number_value(v.value);
	}
	return 0;
}

/* The index of the name in the list; 0 if absent, or a word of a later version. */
static int take_name(const struct jval *v, const char *const *names, uint8_t *ret, struct err *err)
{
	uint8_t i;

	*ret = 0;
	if (is_absent(v))
		return 0;
	if (!json_is_string(v->value))
		return jval_fail(v, err, "must be a string");
	for (i = 0; names[i]; i++)
		if (streq(names[i], json_string_value(v->value)))
			*ret = i;
	return 0;
}

/* --- groups --- */

static int take_members(const struct jval *group, struct hang_part_group *to, struct err *err)
{
	struct jval list = jval_get(group, "ranks"), v;
	int64_t rank;
	size_t i;
	int r;

	if (is_absent(&list))
		return 0;
	if (!json_is_array(list.value) || json_array_size(list.value) != to->size)
		return jval_fail(&list, err, "must be a list with one entry per member");
	to->ranks = calloc(to->size, sizeof(*to->ranks));
	if (!to->ranks)
		return no_memory(&list, err);
	to->whole = true;
	for (i = 0; i < to->size; i++) {
		v = jval_at(&list, i);
		rank = HANG_UNKNOWN;
		r = take_number(&v, &rank, err);
		if (r < 0)
			return r;
		if (rank >= HANG_RANKS_MAX || rank == HANG_NONE)
			return jval_fail(&v, err, "must be a rank below %d", HANG_RANKS_MAX);
		to->ranks[i] = rank == HANG_UNKNOWN ? HANG_NOBODY : (uint32_t)rank;
		to->whole &= rank != HANG_UNKNOWN;
		to->most = MAX(to->most, rank == HANG_UNKNOWN ? 0 : (uint32_t)rank);
	}
	return 0;
}

static int take_group(const struct jval *group, struct hang_part_group *to, size_t *n_members,
		      struct err *err)
{
	struct {
		char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	} words = { .name = "" };
	const struct text_row rows[] = {
		{ "name", 0, HANG_NAME_SIZE },
		{ "desc", HANG_NAME_SIZE, HANG_NAME_SIZE },
	};
	struct jval v = jval_get(group, "size");
	int64_t size = HANG_UNKNOWN;
	int r = jval_need_object(group, err);

	if (r == 0)
		r = take_number(&v, &size, err);
	if (r < 0)
		return r;
	if (size < 1 || size > HANG_RANKS_MAX)
		return jval_fail(&v, err, "must be a number from 1 to %d", HANG_RANKS_MAX);
	*n_members += (size_t)size;
	if (*n_members > HANG_MEMBERS_MAX)
		return jval_fail(&v, err, "the groups have more than %d members", HANG_MEMBERS_MAX);
	to->size = (size_t)size;
	to->p2p = json_is_true(json_object_get(group->value, "p2p"));
	r = take_texts(group, rows, ARRAY_SIZE(rows), &words, err);
	to->name = xstrdup(words.name);
	to->desc = xstrdup(words.desc);
	return r < 0 ? r : take_members(group, to, err);
}

static int take_groups(const struct jval *document, struct hang_part *part, struct err *err)
{
	struct jval list = jval_get(document, "groups"), group;
	size_t i, n, n_members = 0;
	int r;

	if (is_absent(&list))
		return 0;
	r = jval_need_array(&list, err);
	if (r < 0)
		return r;
	n = json_array_size(list.value);
	if (n > HANG_GROUPS_MAX)
		return jval_fail(&list, err, "more than %d groups", HANG_GROUPS_MAX);
	part->groups = xcalloc(n + 1, sizeof(*part->groups));
	for (i = 0; i < n; i++) {
		group = jval_at(&list, i);
		r = take_group(&group, &part->groups[part->n_groups], &n_members, err);
		part->n_groups += part->groups[part->n_groups].name != NULL;
		if (r < 0)
			return r;
	}
	return 0;
}

/* The index of a group of this document. */
static int group_of(const struct hang_part *part, const struct jval *v, uint32_t *ret,
		    struct err *err)
{
	struct jval number = jval_get(v, "group");
	int64_t group = HANG_UNKNOWN;
	int r = jval_need_object(v, err);

	if (r == 0)
		r = take_number(&number, &group, err);
	if (r == 0 && (group < 0 || (size_t)group >= part->n_groups))
		r = jval_fail(&number, err, "must be the index of a group: there are %zu",
			      part->n_groups);
	if (r == 0)
		*ret = (uint32_t)group;
	return r;
}

/* --- ranks --- */

static int take_position(const struct jval *v, uint32_t rank, struct hang_part *part,
			 struct err *err)
{
	struct hang_part_position *to = &part->positions[part->n_positions++];
	struct jval place = jval_get(v, "place");
	int r;

	*to = (struct hang_part_position){ .at = { .rank = rank,
						   .enqueued = HANG_UNKNOWN,
						   .started = HANG_UNKNOWN,
						   .completed = HANG_UNKNOWN },
					   .place = HANG_UNKNOWN };
	r = group_of(part, v, &to->at.group, err);
	if (r == 0)
		r = take_numbers(v, position_numbers, ARRAY_SIZE(position_numbers), &to->at, err);
	if (r == 0)
		r = take_number(&place, &to->place, err);
	if (r == 0 && to->place != HANG_UNKNOWN &&
	    (to->place < 0 || (size_t)to->place >= part->groups[to->at.group].size))
		r = jval_fail(&place, err, "the group has %zu places",
			      part->groups[to->at.group].size);
	return r;
}

static int take_op(const struct jval *v, uint32_t rank, struct hang_part *part, struct err *err)
{
	struct hang_op *op = &part->ops[part->n_ops++];
	struct jval state = jval_get(v, "state"), wait = jval_get(v, "wait");
	int64_t number = 0;
	int r;

	*op = (struct hang_op){ .rank = rank,
				.seq = HANG_UNKNOWN,
				.peer = HANG_UNKNOWN,
				.count = HANG_UNKNOWN,
				.count_out = HANG_UNKNOWN,
				.for_s = NAN };
	r = group_of(part, v, &op->group, err);
	if (r == 0)
		r = take_texts(v, op_texts, ARRAY_SIZE(op_texts), op, err);
	if (r == 0)
		r = take_numbers(v, op_numbers, ARRAY_SIZE(op_numbers), op, err);
	if (r == 0)
		r = take_reals(v, op_reals, ARRAY_SIZE(op_reals), op, err);
	if (r == 0)
		r = take_name(&state, hang_op_state_names, &op->state, err);
	if (r == 0)
		r = take_number(&wait, &number, err);
	op->wait = number > 0 && number <= WAIT_MAX ? (uint8_t)number : 0;
	return r;
}

typedef int take_item(const struct jval *v, uint32_t rank, struct hang_part *part, struct err *err);

static int take_list(const struct jval *rank, const char *key, uint32_t number,
		     struct hang_part *part, take_item *take, struct err *err)
{
	struct jval list = jval_get(rank, key), v;
	size_t i;
	int r = 0;

	for (i = 0; i < json_array_size(list.value) && r == 0; i++) {
		v = jval_at(&list, i);
		r = take(&v, number, part, err);
	}
	return r;
}

static int take_sources(const struct jval *rank, unsigned *sources, struct err *err)
{
	struct jval list = jval_get(rank, "sources"), v;
	uint8_t bit;
	size_t i;
	int r;

	if (is_absent(&list))
		return 0;
	r = jval_need_array(&list, err);
	for (i = 0; i < json_array_size(list.value) && r == 0; i++) {
		v = jval_at(&list, i);
		r = take_name(&v, hang_source_names, &bit, err);
		if (r == 0 && streq(json_string_value(v.value), hang_source_names[bit]))
			*sources |= 1U << bit;
	}
	return r;
}

/* What the host says of the process and its devices. */
static int take_host(const struct jval *v, struct hang_rank *rank, struct err *err)
{
	struct jval process = jval_get(v, "process"), device = jval_get(v, "device");
	struct jval state = jval_get(&process, "state"), xid = jval_get(&device, "xid");
	struct jval pid = jval_get(v, "pid");
	const struct text_row gpu[] = { TEXT(hang_rank, "gpu", gpu) };
	int r = take_texts(v, gpu, ARRAY_SIZE(gpu), rank, err);

	if (r == 0)
		r = take_number(&pid, &rank->pid, err);
	if (r == 0 && !is_absent(&process))
		r = jval_need_object(&process, err);
	if (r == 0)
		r = take_texts(&process, process_texts, ARRAY_SIZE(process_texts), rank, err);
	if (r == 0)
		r = take_reals(&process, process_reals, ARRAY_SIZE(process_reals), rank, err);
	if (r == 0)
		r = take_name(&state, hang_process_names, &rank->process, err);
	if (r == 0 && !is_absent(&device))
		r = jval_need_object(&device, err);
	if (r == 0)
		r = take_number(&xid, &rank->xid, err);
	if (r == 0 && rank->xid > XID_MAX)
		r = jval_fail(&xid, err, "must be at most %d", XID_MAX);
	if (r == 0)
		r = take_reals(&device, device_reals, ARRAY_SIZE(device_reals), rank, err);
	return r;
}

/* RAS reports ranks of which hosts know nothing else: they are many, and small. */
static bool has_host(const struct jval *rank)
{
	static const char *const keys[] = { "process", "device", "pid", "gpu" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct jval v = jval_get(rank, keys[i]);

		if (!is_absent(&v))
			return true;
	}
	return false;
}

/* The rank's number; -EINVAL. */
static int rank_of(const struct jval *v, int64_t *ret, struct err *err)
{
	struct jval number = jval_get(v, "rank");
	int r = jval_need_object(v, err);

	*ret = HANG_UNKNOWN;
	if (r == 0)
		r = take_number(&number, ret, err);
	if (r == 0 && (*ret < 0 || *ret >= HANG_RANKS_MAX))
		r = jval_fail(&number, err, "must be a rank below %d", HANG_RANKS_MAX);
	return r;
}

static int take_rank(const struct jval *v, struct hang_part *part, struct err *err)
{
	struct hang_part_rank *rank = &part->ranks[part->n_ranks++];
	const size_t n_positions = part->n_positions, n_ops = part->n_ops;
	int64_t number;
	int r = rank_of(v, &number, err);

	if (r < 0)
		return r;
	rank->number = (uint32_t)number;
	if (has_host(v)) {
		rank->said = xcalloc(1, sizeof(*rank->said));
		*rank->said = hang_rank_unknown;
		r = take_host(v, rank->said, err);
	}
	if (r == 0)
		r = take_sources(v, &rank->sources, err);
	if (r == 0)
		r = take_list(v, "positions", rank->number, part, take_position, err);
	if (r == 0)
		r = take_list(v, "ops", rank->number, part, take_op, err);
	rank->n_positions = part->n_positions - n_positions;
	rank->n_ops = part->n_ops - n_ops;
	return r;
}

/* Total number of items in this list over all ranks. */
static int count_items(const struct jval *ranks, const char *key, size_t most, size_t *ret,
		       struct err *err)
{
	size_t i, n = 0;
	int r = 0;

	for (i = 0; i < json_array_size(ranks->value) && r == 0; i++) {
		struct jval rank = jval_at(ranks, i), list = jval_get(&rank, key);

		if (!is_absent(&list))
			r = jval_need_array(&list, err);
		n += json_array_size(list.value);
	}
	if (r == 0 && n > most)
		r = jval_fail(ranks, err, "more than %zu %s", most, key);
	*ret = n;
	return r;
}

static int make_room(const struct jval *ranks, struct hang_part *part, struct err *err)
{
	const size_t n_ranks = json_array_size(ranks->value);
	size_t n_positions = 0, n_ops = 0;
	int r = count_items(ranks, "positions", HANG_POSITIONS_MAX, &n_positions, err);

	if (r == 0)
		r = count_items(ranks, "ops", HANG_OPS_MAX, &n_ops, err);
	if (r == 0 && n_ranks > RANK_LISTED_MAX)
		r = jval_fail(ranks, err, "more than %d ranks", RANK_LISTED_MAX);
	if (r < 0)
		return r;
	part->ranks = calloc(n_ranks + 1, sizeof(*part->ranks));
	part->positions = calloc(n_positions + 1, sizeof(*part->positions));
	part->ops = calloc(n_ops + 1, sizeof(*part->ops));
	return part->ranks && part->positions && part->ops ? 0 : no_memory(ranks, err);
}

static int take_ranks(const struct jval *document, struct hang_part *part, struct err *err)
{
	struct jval list = jval_get(document, "ranks"), v;
	size_t i;
	int r;

	if (is_absent(&list))
		return 0;
	r = jval_need_array(&list, err);
	if (r == 0)
		r = make_room(&list, part, err);
	for (i = 0; i < json_array_size(list.value) && r == 0; i++) {
		v = jval_at(&list, i);
		r = take_rank(&v, part, err);
	}
	return r;
}

/* --- places --- */

static int by_place(const void *a, const void *b)
{
	const struct hang_part_position *x = *(const struct hang_part_position *const *)a,
					*y = *(const struct hang_part_position *const *)b;

	if (x->at.group != y->at.group)
		return x->at.group < y->at.group ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->at.rank > y->at.rank) - (x->at.rank < y->at.rank);
}

static int check_place(const struct jval *document, const struct hang_part_position *position,
		       uint32_t other, struct err *err)
{
	if (other == HANG_NOBODY || other == position->at.rank)
		return 0;
	return jval_fail(document, err, "rank %u: place %" PRId64 " of groups[%u] is rank %u's",
			 position->at.rank, position->place, position->at.group, other);
}

/* Checks that each place of a group has only one rank. */
static int check_places(const struct jval *document, const struct hang_part *part, struct err *err)
{
	CLEANUP(freep)
	const struct hang_part_position **sorted = calloc(part->n_positions + 1, sizeof(*sorted));
	size_t i, n = 0;
	int r = sorted ? 0 : no_memory(document, err);

	for (i = 0; r == 0 && i < part->n_positions; i++) {
		const struct hang_part_position *position = &part->positions[i];
		const uint32_t *listed = part->groups[position->at.group].ranks;

		if (position->place == HANG_UNKNOWN)
			continue;
		r = check_place(document, position, listed ? listed[position->place] : HANG_NOBODY,
				err);
		sorted[n++] = position;
	}
	if (r < 0)
		return r;
	qsort((void *)sorted, n, sizeof(*sorted), by_place);
	for (i = 1; r == 0 && i < n; i++) {
		if (sorted[i]->at.group == sorted[i - 1]->at.group &&
		    sorted[i]->place == sorted[i - 1]->place)
			r = check_place(document, sorted[i], sorted[i - 1]->at.rank, err);
	}
	return r;
}

/* --- a document --- */

static int take_head(const struct jval *document, struct hang_part *part, struct err *err)
{
	struct jval run = jval_get(document, "run");
	struct jval world = jval_get(document, "world");
	int r = take_texts(document, head_texts, ARRAY_SIZE(head_texts), &part->head, err);

	if (r == 0)
		r = take_reals(document, head_reals, ARRAY_SIZE(head_reals), &part->head, err);
	if (r == 0)
		r = take_number(&run, &part->head.run, err);
	if (r == 0)
		r = take_number(&world, &part->world, err);
	if (r == 0 && part->world > HANG_RANKS_MAX)
		r = jval_fail(&world, err, "must be at most %d", HANG_RANKS_MAX);
	return r;
}

static int take_missing(const struct jval *document, struct hang_part *part, struct err *err)
{
	struct jval list = jval_get(document, "missing");
	char text[HANG_SENTENCE_SIZE];
	size_t i, n;
	int r;

	if (is_absent(&list))
		return 0;
	r = jval_need_array(&list, err);
	if (r < 0)
		return r;
	n = MIN(json_array_size(list.value), (size_t)HANG_MISSING_MAX);
	part->missing = xcalloc(n + 1, sizeof(*part->missing));
	for (i = 0; i < n; i++) {
		const json_t *item = json_array_get(list.value, i);

		if (!json_is_string(item))
			return jval_fail(&list, err, "must be a list of strings");
		hang_text_take(text, sizeof(text), json_string_value(item),
			       json_string_length(item));
		part->missing[part->n_missing++] = xstrdup(text);
	}
	return 0;
}

bool hang_json_is(const json_t *document)
{
	return streq(json_string_value(json_object_get(document, "format")), HANG_FORMAT);
}

int hang_json_read(const struct jval *document, struct hang_part *ret, struct err *err)
{
	CLEANUP(hang_part_release)
	struct hang_part part = {
		.head = { .run = HANG_UNKNOWN, .age_s = NAN },
		.world = HANG_UNKNOWN,
	};
	struct jval format = jval_get(document, "format");
	int r = jval_need_object(document, err);

	if (r == 0 && !hang_json_is(document->value))
		r = jval_fail(&format, err, "must be \"" HANG_FORMAT "\"");
	if (r == 0)
		r = take_head(document, &part, err);
	if (r == 0)
		r = take_groups(document, &part, err);
	if (r == 0)
		r = take_ranks(document, &part, err);
	if (r == 0)
		r = check_places(document, &part, err);
	if (r == 0)
		r = take_missing(document, &part, err);
	if (r < 0)
		return r;
	*ret = part;
	part = (struct hang_part){ .n_groups = 0 };
	return 0;
}

int hang_json_add(struct hang_case *c, const struct jval *document, struct hang_head *head,
		  struct err *err)
{
	static const struct hang_part_options options = { .world = HANG_UNKNOWN };
	CLEANUP(hang_part_release) struct hang_part part = { .n_groups = 0 };
	int r = hang_json_read(document, &part, err);

	if (r < 0)
		return r;
	r = hang_part_join(&part, &options, c, err);
	if (r < 0)
		return err_wrap(err, r, "%s", document->file);
	if (head)
		*head = part.head;
	return 0;
}

/* --- encoding ---------------------------------------------------------------- */

static void put_texts(json_t *object, const struct text_row *rows, size_t n, const void *in)
{
	const char *text;
	size_t i;

	for (i = 0; i < n; i++) {
		text = (const char *)in + rows[i].offset;
		if (text[0])
			(void)json_object_set_new(object, rows[i].key, json_string(text));
	}
}

static void put_numbers(json_t *object, const struct number_row *rows, size_t n, const void *in)
{
	int64_t number;
	size_t i;

	for (i = 0; i < n; i++) {
		number = *(const int64_t *)(const void *)((const char *)in + rows[i].offset);
		if (number != HANG_UNKNOWN)
			(void)json_object_set_new(object, rows[i].key, json_integer(number));
	}
}

static void put_reals(json_t *object, const struct number_row *rows, size_t n, const void *in)
{
	double number;
	size_t i;

	for (i = 0; i < n; i++) {
		number = *(const double *)(const void *)((const char *)in + rows[i].offset);
		if (isfinite(number))
			(void)json_object_set_new(object, rows[i].key, json_real(number));
	}
}

static json_t *encode_group(const struct hang_group *group)
{
	json_t *ranks = json_array();
	size_t i;

	for (i = 0; i < group->size; i++)
		(void)json_array_append_new(ranks, group->ranks[i] == HANG_NOBODY
							   ? json_null()
							   : json_integer(group->ranks[i]));
	return json_pack("{s:s, s:s, s:I, s:o, s:b}", "name", group->name, "desc", group->desc,
			 "size", (json_int_t)group->size, "ranks", ranks, "p2p", group->p2p);
}

static json_t *encode_position(const struct hang_case *c, const struct hang_position *position)
{
	json_t *object = json_pack("{s:I}", "group", (json_int_t)position->group);
	int64_t place = hang_case_place(&c->groups[position->group], position->rank);

	if (place >= 0)
		(void)json_object_set_new(object, "place", json_integer(place));
	put_numbers(object, position_numbers, ARRAY_SIZE(position_numbers), position);
	return object;
}

static json_t *encode_op(const struct hang_op *op)
{
	json_t *object = json_pack("{s:I, s:s}", "group", (json_int_t)op->group, "state",
				   hang_op_state_names[op->state]);

	put_texts(object, op_texts, ARRAY_SIZE(op_texts), op);
	put_numbers(object, op_numbers, ARRAY_SIZE(op_numbers), op);
	put_reals(object, op_reals, ARRAY_SIZE(op_reals), op);
	if (op->wait)
		(void)json_object_set_new(object, "wait", json_integer(op->wait));
	return object;
}

static json_t *encode_rank(const struct hang_rank *rank, size_t number)
{
	json_t *object = json_pack("{s:I, s:[]}", "rank", (json_int_t)number, "sources");
	json_t *process = json_object(), *device = json_object();
	size_t i;

	for (i = 0; i < HANG_SOURCES; i++)
		if (rank->sources & (1U << i))
			(void)json_array_append_new(json_object_get(object, "sources"),
						    json_string(hang_source_names[i]));
	if (rank->pid != HANG_UNKNOWN)
		(void)json_object_set_new(object, "pid", json_integer(rank->pid));
	if (rank->gpu[0])
		(void)json_object_set_new(object, "gpu", json_string(rank->gpu));
	if (rank->process != HANG_PROCESS_UNKNOWN)
		(void)json_object_set_new(process, "state",
					  json_string(hang_process_names[rank->process]));
	put_texts(process, process_texts, ARRAY_SIZE(process_texts), rank);
	put_reals(process, process_reals, ARRAY_SIZE(process_reals), rank);
	if (rank->xid != HANG_UNKNOWN)
		(void)json_object_set_new(device, "xid", json_integer(rank->xid));
	put_reals(device, device_reals, ARRAY_SIZE(device_reals), rank);
	if (json_object_size(process) > 0)
		(void)json_object_set(object, "process", process);
	if (json_object_size(device) > 0)
		(void)json_object_set(object, "device", device);
	json_decref(process);
	json_decref(device);
	(void)json_object_set_new(object, "positions", json_array());
	(void)json_object_set_new(object, "ops", json_array());
	return object;
}

/* Each rank's object by its number; borrowed from `list`, which takes them. */
static json_t **encode_ranks(const struct hang_case *c, json_t *list)
{
	json_t **objects = xcalloc(c->n_ranks + 1, sizeof(*objects));
	size_t i;

	for (i = 0; i < c->n_ranks; i++) {
		if (c->ranks[i].sources == 0)
			continue;
		objects[i] = encode_rank(&c->ranks[i], i);
		(void)json_array_append_new(list, objects[i]);
	}
	return objects;
}

json_t *hang_json_encode(const struct hang_case *c, const struct hang_head *head)
{
	json_t *document = json_pack("{s:s}", "format", HANG_FORMAT);
	json_t *groups = json_array(), *ranks = json_array(), *missing = json_array();
	CLEANUP(freep) json_t **objects = encode_ranks(c, ranks);
	size_t i;

	put_texts(document, head_texts, ARRAY_SIZE(head_texts), head);
	if (head->run != HANG_UNKNOWN)
		(void)json_object_set_new(document, "run", json_integer(head->run));
	(void)json_object_set_new(document, "world", json_integer((json_int_t)c->n_ranks));
	put_reals(document, head_reals, ARRAY_SIZE(head_reals), head);
	for (i = 0; i < c->n_groups; i++)
		(void)json_array_append_new(groups, encode_group(&c->groups[i]));
	for (i = 0; i < c->n_positions; i++)
		if (objects[c->positions[i].rank])
			(void)json_array_append_new(
				json_object_get(objects[c->positions[i].rank], "positions"),
				encode_position(c, &c->positions[i]));
	for (i = 0; i < c->n_ops; i++)
		if (objects[c->ops[i].rank])
			(void)json_array_append_new(json_object_get(objects[c->ops[i].rank], "ops"),
						    encode_op(&c->ops[i]));
	for (i = 0; i < c->n_missing; i++)
		(void)json_array_append_new(missing, json_string(c->missing[i]));
	(void)json_object_set_new(document, "groups", groups);
	(void)json_object_set_new(document, "ranks", ranks);
	(void)json_object_set_new(document, "missing", missing);
	return document;
}
