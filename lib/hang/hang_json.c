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

enum { RANK_GROUPS_MAX = 65536, XID_MAX = 9999, WAIT_MAX = 255 };

/* --- tables of what is plain ------------------------------------------------ */

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

/* A whole number from -1 up; what is absent stays as it is. */
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

/* The place of the name in the list. What is absent, or a word of tomorrow, is 0. */
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

/* One document: its groups' places in the case. */
struct reading {
	struct hang_case *c;
	const struct jval *document;
	struct hang_head head;
	uint32_t *groups;   /* by place in the document */
	uint32_t **members; /* of each */
	size_t *sizes;
	size_t n_groups;
};

static void reading_release(struct reading *reading)
{
	size_t i;

	for (i = 0; i < reading->n_groups && reading->members; i++)
		free(reading->members[i]);
	free(reading->members);
	free(reading->sizes);
	free(reading->groups);
}

static int take_members(const struct jval *group, uint32_t *members, size_t size, struct err *err)
{
	struct jval list = jval_get(group, "ranks"), v;
	int64_t rank;
	size_t i;
	int r;

	if (is_absent(&list))
		return 0;
	if (!json_is_array(list.value) || json_array_size(list.value) != size)
		return jval_fail(&list, err, "must be a list as long as its size");
	for (i = 0; i < size; i++) {
		v = jval_at(&list, i);
		rank = HANG_UNKNOWN;
		r = take_number(&v, &rank, err);
		if (r < 0)
			return r;
		if (rank >= HANG_RANKS_MAX || rank == HANG_NONE)
			return jval_fail(&v, err, "must be a rank below %d", HANG_RANKS_MAX);
		members[i] = rank == HANG_UNKNOWN ? HANG_NOBODY : (uint32_t)rank;
	}
	return 0;
}

static int take_group_head(struct reading *reading, const struct jval *group, size_t i,
			   size_t *n_members, struct err *err)
{
	struct jval v = jval_get(group, "size");
	int64_t size = HANG_UNKNOWN;
	size_t k;
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
	reading->sizes[i] = (size_t)size;
	reading->members[i] = calloc((size_t)size, sizeof(**reading->members));
	if (!reading->members[i])
		return jval_fail(&v, err, "no memory for a group of %" PRId64, size);
	for (k = 0; k < (size_t)size; k++)
		reading->members[i][k] = HANG_NOBODY;
	return take_members(group, reading->members[i], (size_t)size, err);
}

static int take_groups(struct reading *reading, struct err *err)
{
	struct jval list = jval_get(reading->document, "groups"), group;
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
	reading->groups = xcalloc(n + 1, sizeof(*reading->groups));
	reading->members = xcalloc(n + 1, sizeof(*reading->members));
	reading->sizes = xcalloc(n + 1, sizeof(*reading->sizes));
	reading->n_groups = n;
	for (i = 0; i < n; i++) {
		group = jval_at(&list, i);
		r = take_group_head(reading, &group, i, &n_members, err);
		if (r < 0)
			return r;
	}
	return 0;
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

/* A group of this document, by its place. */
static int group_of(const struct reading *reading, const struct jval *v, size_t *ret,
		    struct err *err)
{
	struct jval number = jval_get(v, "group");
	int64_t group = HANG_UNKNOWN;
	int r = take_number(&number, &group, err);

	if (r == 0 && (group < 0 || (size_t)group >= reading->n_groups))
		r = jval_fail(&number, err, "must be the index of a group: there are %zu",
			      reading->n_groups);
	if (r == 0)
		*ret = (size_t)group;
	return r;
}

/* Where the rank stands in the groups whose members nobody listed. */
static int take_places(struct reading *reading, const struct jval *rank, struct err *err)
{
	struct jval list = jval_get(rank, "positions"), v, place;
	size_t i, group = 0;
	int64_t number, at;
	int r = rank_of(rank, &number, err);

	if (r < 0 || is_absent(&list))
		return r;
	r = jval_need_array(&list, err);
	for (i = 0; i < json_array_size(list.value) && r == 0; i++) {
		v = jval_at(&list, i);
		r = jval_need_object(&v, err);
		if (r == 0)
			r = group_of(reading, &v, &group, err);
		if (r < 0)
			return r;
		at = HANG_UNKNOWN;
		place = jval_get(&v, "place");
		r = take_number(&place, &at, err);
		if (r < 0 || at == HANG_UNKNOWN)
			continue;
		if (at < 0 || (size_t)at >= reading->sizes[group])
			return jval_fail(&place, err, "the group has %zu places",
					 reading->sizes[group]);
		if (reading->members[group][at] != HANG_NOBODY &&
		    reading->members[group][at] != (uint32_t)number)
			return jval_fail(&place, err, "it is rank %u's",
					 reading->members[group][at]);
		reading->members[group][at] = (uint32_t)number;
	}
	return r;
}

static int join_groups(struct reading *reading, struct err *err)
{
	struct jval list = jval_get(reading->document, "groups"), group;
	struct {
		char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	} words;
	const struct text_row rows[] = {
		{ "name", 0, HANG_NAME_SIZE },
		{ "desc", HANG_NAME_SIZE, HANG_NAME_SIZE },
	};
	size_t i;
	int r = 0;

	for (i = 0; i < reading->n_groups; i++) {
		memset(&words, 0, sizeof(words));
		group = jval_at(&list, i);
		r = take_texts(&group, rows, ARRAY_SIZE(rows), &words, err);
		if (r < 0)
			return r;
		r = hang_case_group(reading->c, words.name, words.desc, reading->members[i],
				    reading->sizes[i], &reading->groups[i], err);
		if (r < 0)
			return err_wrap(err, r, "%s: groups[%zu]", reading->document->file, i);
		if (json_is_true(json_object_get(group.value, "p2p")))
			reading->c->groups[reading->groups[i]].p2p = true;
	}
	return r;
}

static int take_position(struct reading *reading, const struct jval *v, uint32_t rank,
			 struct err *err)
{
	struct hang_position position = { .rank = rank,
					  .enqueued = HANG_UNKNOWN,
					  .started = HANG_UNKNOWN,
					  .completed = HANG_UNKNOWN };
	size_t group = 0;
	int r = group_of(reading, v, &group, err);

	if (r == 0)
		r = take_numbers(v, position_numbers, ARRAY_SIZE(position_numbers), &position, err);
	if (r < 0)
		return r;
	position.group = reading->groups[group];
	r = hang_case_position(reading->c, &position, err);
	return r < 0 ? err_wrap(err, r, "%s", reading->document->file) : 0;
}

static int take_op(struct reading *reading, const struct jval *v, uint32_t rank, struct err *err)
{
	struct hang_op op = { .rank = rank,
			      .seq = HANG_UNKNOWN,
			      .peer = HANG_UNKNOWN,
			      .count = HANG_UNKNOWN,
			      .count_out = HANG_UNKNOWN,
			      .for_s = NAN };
	struct jval state = jval_get(v, "state"), wait = jval_get(v, "wait");
	int64_t number = 0;
	size_t group = 0;
	int r = jval_need_object(v, err);

	if (r == 0)
		r = group_of(reading, v, &group, err);
	if (r == 0)
		r = take_texts(v, op_texts, ARRAY_SIZE(op_texts), &op, err);
	if (r == 0)
		r = take_numbers(v, op_numbers, ARRAY_SIZE(op_numbers), &op, err);
	if (r == 0)
		r = take_reals(v, op_reals, ARRAY_SIZE(op_reals), &op, err);
	if (r == 0)
		r = take_name(&state, hang_op_state_names, &op.state, err);
	if (r == 0)
		r = take_number(&wait, &number, err);
	if (r < 0)
		return r;
	op.wait = number > 0 && number <= WAIT_MAX ? (uint8_t)number : 0;
	op.group = reading->groups[group];
	r = hang_case_op(reading->c, &op, err);
	return r < 0 ? err_wrap(err, r, "%s", reading->document->file) : 0;
}

typedef int take_item(struct reading *reading, const struct jval *v, uint32_t rank, struct err *err);

static int take_list(struct reading *reading, const struct jval *rank, const char *key,
		     uint32_t number, take_item *take, struct err *err)
{
	struct jval list = jval_get(rank, key), v;
	size_t i;
	int r;

	if (is_absent(&list))
		return 0;
	r = jval_need_array(&list, err);
	for (i = 0; i < json_array_size(list.value) && r == 0; i++) {
		v = jval_at(&list, i);
		r = take(reading, &v, number, err);
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
		r = take_sources(v, &rank->sources, err);
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

static int take_rank(struct reading *reading, const struct jval *v, struct err *err)
{
	struct hang_rank *rank = NULL;
	int64_t number;
	int r = rank_of(v, &number, err);

	if (r == 0)
		r = hang_case_rank(reading->c, number, &rank, err);
	if (r < 0)
		return r;
	if (rank->node[0] && !streq(rank->node, reading->head.node)) {
		hang_case_missing(reading->c,
				  "rank %" PRId64
				  ": both %s and %s claim it; what %s says of it is left out",
				  number, rank->node, reading->head.node, reading->head.node);
		return 0;
	}
	memcpy(rank->node, reading->head.node, sizeof(rank->node));
	r = take_host(v, rank, err);
	if (r == 0)
		r = take_list(reading, v, "positions", (uint32_t)number, take_position, err);
	if (r == 0)
		r = take_list(reading, v, "ops", (uint32_t)number, take_op, err);
	return r;
}

static int take_head(struct reading *reading, struct err *err)
{
	struct jval run = jval_get(reading->document, "run");
	struct jval world = jval_get(reading->document, "world");
	struct hang_rank *rank;
	int64_t number = HANG_UNKNOWN;
	int r = take_texts(reading->document, head_texts, ARRAY_SIZE(head_texts), &reading->head,
			   err);

	if (r == 0)
		r = take_reals(reading->document, head_reals, ARRAY_SIZE(head_reals),
			       &reading->head, err);
	if (r == 0)
		r = take_number(&run, &reading->head.run, err);
	if (r == 0)
		r = take_number(&world, &number, err);
	if (r == 0 && number > HANG_RANKS_MAX)
		r = jval_fail(&world, err, "must be at most %d", HANG_RANKS_MAX);
	if (r == 0 && number > 0)
		r = hang_case_rank(reading->c, number - 1, &rank, err);
	return r;
}

static int take_missing(struct reading *reading, struct err *err)
{
	struct jval list = jval_get(reading->document, "missing");
	char text[HANG_SENTENCE_SIZE];
	const json_t *item;
	size_t i;
	int r;

	if (is_absent(&list))
		return 0;
	r = jval_need_array(&list, err);
	for (i = 0; i < json_array_size(list.value) && r == 0; i++) {
		item = json_array_get(list.value, i);
		if (!json_is_string(item))
			return jval_fail(&list, err, "must be a list of strings");
		hang_text_take(text, sizeof(text), json_string_value(item),
			       json_string_length(item));
		hang_case_missing(reading->c, "%s", text);
	}
	return r;
}

static int take_document(struct reading *reading, struct err *err)
{
	struct jval ranks = jval_get(reading->document, "ranks"), v;
	size_t i, n = json_array_size(ranks.value);
	int r = take_head(reading, err);

	if (r == 0 && !is_absent(&ranks))
		r = jval_need_array(&ranks, err);
	if (r == 0)
		r = take_groups(reading, err);
	for (i = 0; i < n && r == 0; i++) {
		v = jval_at(&ranks, i);
		r = take_places(reading, &v, err);
	}
	if (r == 0)
		r = join_groups(reading, err);
	for (i = 0; i < n && r == 0; i++) {
		v = jval_at(&ranks, i);
		r = take_rank(reading, &v, err);
	}
	return r == 0 ? take_missing(reading, err) : r;
}

bool hang_json_is(const json_t *document)
{
	return streq(json_string_value(json_object_get(document, "format")), HANG_FORMAT);
}

int hang_json_add(struct hang_case *c, const struct jval *document, struct hang_head *head,
		  struct err *err)
{
	CLEANUP(reading_release)
	struct reading reading = {
		.c = c,
		.document = document,
		.head = { .run = HANG_UNKNOWN, .age_s = NAN },
	};
	struct jval format = jval_get(document, "format");
	int r = jval_need_object(document, err);

	if (r < 0)
		return r;
	if (!hang_json_is(document->value))
		return jval_fail(&format, err, "must be \"" HANG_FORMAT "\"");
	r = take_document(&reading, err);
	if (r == 0 && head)
		*head = reading.head;
	return r;
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
