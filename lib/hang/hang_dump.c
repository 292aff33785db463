/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_dump.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_text.h"

enum { DECIMAL = 10, TENSORS_MAX = 1024, DIMENSIONS_MAX = 64 }; /* limits for counting elements */

void hang_dump_release(struct hang_dump *dump)
{
	size_t i;

	for (i = 0; i < dump->n_groups; i++)
		free(dump->groups[i].ranks);
	free((void *)dump->by_name);
	free(dump->groups);
	free(dump->ops);
	free(dump->file);
	*dump = (struct hang_dump){ .n_groups = 0 };
}

int64_t hang_dump_name_rank(const char *file)
{
	const char *base = strrchr(file, '/'), *end, *at;
	int64_t rank = 0;

	base = base ? base + 1 : file;
	end = strrchr(base, '.');
	if (!end || end == base)
		end = base + strlen(base);
	for (at = end; at > base && at[-1] >= '0' && at[-1] <= '9'; at--)
		;
	if (at == end)
		return -1;
	for (; at < end; at++) {
		rank = rank * DECIMAL + (*at - '0');
		if (rank >= HANG_RANKS_MAX)
			return -1;
	}
	return rank;
}

bool hang_dump_is(const struct hang_value *document)
{
	return hang_value_get(document, "entries") &&
	       (hang_value_get(document, "pg_config") || hang_value_get(document, "pg_status"));
}

static void copy(char *out, size_t size, const struct hang_value *text)
{
	hang_text_take(out, size, hang_value_text(text), strlen(hang_value_text(text)));
}

/* --- groups ------------------------------------------------------------------ */

/* Counts, and stores if `ranks` is given, the numbers of "[0, 2]"; -1: not such a list. */
static int64_t parse_ranks(const char *text, uint32_t *ranks)
{
	int64_t n = 0, rank;
	char *end;

	if (*text++ != '[')
		return -1;
	while (*text && *text != ']') {
		if (*text < '0' || *text > '9')
			return -1;
		rank = strtoll(text, &end, DECIMAL);
		if (rank >= HANG_RANKS_MAX || n >= HANG_RANKS_MAX)
			return -1;
		if (ranks)
			ranks[n] = (uint32_t)rank;
		n++;
		for (text = end; *text == ',' || *text == ' '; text++)
			;
	}
	return *text == ']' && !text[1] ? n : -1;
}

static int64_t list_ranks(const struct hang_value *list, uint32_t *ranks)
{
	size_t i, n = hang_value_size(list);
	int64_t rank = 0;

	if (list->kind != HANG_VALUE_LIST || n > HANG_RANKS_MAX)
		return -1;
	for (i = 0; i < n; i++) {
		if (!hang_value_number(hang_value_at(list, i), &rank) || rank < 0 ||
		    rank >= HANG_RANKS_MAX)
			return -1;
		if (ranks)
			ranks[i] = (uint32_t)rank;
	}
	return (int64_t)n;
}

static int read_members(const struct hang_dump *dump, struct hang_dump_group *group,
			const struct hang_value *members, struct err *err)
{
	bool is_text = members && members->kind == HANG_VALUE_TEXT;
	int64_t n;

	if (!members || members->kind == HANG_VALUE_NONE)
		return 0;
	n = is_text ? parse_ranks(members->text, NULL) : list_ranks(members, NULL);
	if (n < 0)
		return err_set(err, EINVAL,
			       "%s: pg_config.%s.ranks: must be a list of ranks below "
			       "%d",
			       dump->file, group->name, HANG_RANKS_MAX);
	group->size = (size_t)n;
	group->ranks = calloc((size_t)n + 1, sizeof(*group->ranks));
	if (!group->ranks)
		return err_set(err, ENOMEM, "%s: no memory for %zu ranks", dump->file, group->size);
	(void)(is_text ? parse_ranks(members->text, group->ranks)
		       : list_ranks(members, group->ranks));
	return 0;
}

static int read_groups(struct hang_dump *dump, const struct hang_value *config, struct err *err)
{
	const struct hang_value *of;
	struct hang_dump_group *group;
	size_t i, n = hang_value_size(config), members = 0;
	int r = 0;

	if (n > HANG_DUMP_GROUPS_MAX)
		return err_set(err, E2BIG, "%s: pg_config: more than %d groups", dump->file,
			       HANG_DUMP_GROUPS_MAX);
	dump->groups = xcalloc(n + 1, sizeof(*dump->groups));
	for (i = 0; i < n && r == 0; i++) {
		group = &dump->groups[dump->n_groups++];
		of = hang_value_of(config, i);
		copy(group->name, sizeof(group->name), hang_value_key(config, i));
		copy(group->desc, sizeof(group->desc), hang_value_get(of, "desc"));
		r = read_members(dump, group, hang_value_get(of, "ranks"), err);
		members += group->size;
		if (r == 0 && members > HANG_MEMBERS_MAX)
			r = err_set(err, E2BIG, "%s: pg_config: more than %d members", dump->file,
				    HANG_MEMBERS_MAX);
	}
	return r;
}

static int compare_names(const void *a, const void *b)
{
	const struct hang_dump_group *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void sort_names(struct hang_dump *dump)
{
	size_t i;

	dump->by_name = xcalloc(dump->n_groups + 1, sizeof(*dump->by_name));
	for (i = 0; i < dump->n_groups; i++)
		dump->by_name[i] = &dump->groups[i];
	qsort((void *)dump->by_name, dump->n_groups, sizeof(*dump->by_name), compare_names);
}

static int compare_name(const void *name, const void *group)
{
	const struct hang_dump_group *const *at = group;

	return strcmp(name, (*at)->name);
}

static struct hang_dump_group *find_group(const struct hang_dump *dump, const char *name)
{
	struct hang_dump_group *const *at =
		dump->n_groups > 0 ? bsearch(name, (const void *)dump->by_name, dump->n_groups,
					     sizeof(*dump->by_name), compare_name)
				   : NULL;

	return at ? *at : NULL;
}

/* --- matching numbers to groups --------------------------------------------- */

/* pg_status, sorted by number, and the group of each; NULL if unknown. */
struct status {
	int64_t id;
	const struct hang_value *of;
	struct hang_dump_group *group;
	bool contradicted;
};
struct named {
	int64_t name;
	struct hang_dump_group *group;
};

static int by_id(const void *a, const void *b)
{
	const struct status *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

static struct status *find_status(struct status *all, size_t n, int64_t id)
{
	struct status key = { .id = id };

	return n > 0 ? bsearch(&key, all, n, sizeof(*all), by_id) : NULL;
}

/* Matches sorted numbers to sorted names; false: different counts, or a name is not a number. */
static bool zip(struct hang_dump *dump, struct status *all, size_t n)
{
	CLEANUP(freep) struct named *names = xcalloc(dump->n_groups + 1, sizeof(*names));
	char *end;
	size_t i;

	if (n != dump->n_groups)
		return false;
	for (i = 0; i < n; i++) {
		errno = 0;
		names[i].name = strtoll(dump->groups[i].name, &end, DECIMAL);
		names[i].group = &dump->groups[i];
		if (errno || *end || end == dump->groups[i].name)
			return false;
	}
	qsort(names, n, sizeof(*names), by_name);
	for (i = 0; i < n; i++) {
		if (i > 0 && (names[i].name == names[i - 1].name || all[i].id == all[i - 1].id))
			return false;
		all[i].group = names[i].group;
	}
	return true;
}

/* Applies an entry's group number; false if it contradicts what is known. */
static bool confirm(struct hang_dump *dump, const struct hang_value *entry, struct status *all,
		    size_t n)
{
	const struct hang_value *pair = hang_value_get(entry, "process_group");
	struct hang_dump_group *group;
	struct status *status;
	int64_t id = 0;

	if (!hang_value_number(hang_value_get(entry, "pg_id"), &id))
		return true;
	status = find_status(all, n, id);
	group = find_group(dump, hang_value_text(hang_value_at(pair, 0)));
	if (!status || !group)
		return true;
	if (status->group && status->group != group)
		return false;
	status->group = group;
	return true;
}

static bool confirm_all(struct hang_dump *dump, const struct hang_value *entries,
			struct status *all, size_t n)
{
	size_t i;
	bool all_agree = true;

	for (i = 0; i < hang_value_size(entries); i++)
		if (!confirm(dump, hang_value_at(entries, i), all, n))
			all_agree = false;
	return all_agree;
}

static void take_status(const struct status *status)
{
	static const char *const keys[] = { "last_enqueued_collective", "last_started_collective",
					    "last_completed_collective" };
	struct hang_dump_group *group = status->group;
	int64_t *const numbers[] = { &group->enqueued, &group->started, &group->completed };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!hang_value_number(hang_value_get(status->of, keys[i]), numbers[i]))
			return;
		/* -1: none yet; the first is 1. */
		*numbers[i] = MAX(*numbers[i], (int64_t)0);
	}
	/* 0 also means that starts are not measured. */
	if (group->started == 0)
		group->started = HANG_UNKNOWN;
	group->has_status = true;
}

static int read_status(struct hang_dump *dump, const struct hang_value *status,
		       const struct hang_value *entries, struct err *err)
{
	size_t i, n = hang_value_size(status);
	CLEANUP(freep) struct status *all = NULL;

	if (n > HANG_DUMP_GROUPS_MAX)
		return err_set(err, E2BIG, "%s: pg_status: more than %d groups", dump->file,
			       HANG_DUMP_GROUPS_MAX);
	all = xcalloc(n + 1, sizeof(*all));
	for (i = 0; i < n; i++) {
		all[i].of = hang_value_of(status, i);
		if (!hang_value_number(hang_value_key(status, i), &all[i].id))
			return err_set(err, EINVAL, "%s: pg_status: '%s' is not a number",
				       dump->file, hang_value_text(hang_value_key(status, i)));
	}
	qsort(all, n, sizeof(*all), by_id);
	if (!zip(dump, all, n) || !confirm_all(dump, entries, all, n)) {
		for (i = 0; i < n; i++)
			all[i].group = NULL;
		if (!confirm_all(dump, entries, all, n))
			return err_set(err, EINVAL, "%s: entries: one pg_id is of two groups",
				       dump->file);
	}
	for (i = 0; i < n; i++)
		if (all[i].group)
			take_status(&all[i]);
	return 0;
}

/* --- entries ------------------------------------------------------------------- */

/* Number of elements in a list of shapes; HANG_UNKNOWN. */
static int64_t count_of(const struct hang_value *shapes)
{
	int64_t total = 0, elements, side = 0;
	size_t i, k;

	if (!shapes || shapes->kind != HANG_VALUE_LIST || shapes->n > TENSORS_MAX)
		return HANG_UNKNOWN;
	for (i = 0; i < hang_value_size(shapes); i++) {
		elements = 1;
		if (hang_value_size(hang_value_at(shapes, i)) > DIMENSIONS_MAX)
			return HANG_UNKNOWN;
		for (k = 0; k < hang_value_size(hang_value_at(shapes, i)); k++) {
			if (!hang_value_number(hang_value_at(hang_value_at(shapes, i), k), &side) ||
			    side < 0 || __builtin_mul_overflow(elements, side, &elements))
				return HANG_UNKNOWN;
		}
		if (__builtin_add_overflow(total, elements, &total))
			return HANG_UNKNOWN;
	}
	return total;
}

/* "nccl:send 1->2": the name without its library, and the place of the other end. */
static void take_name(struct hang_op *op, const char *text)
{
	const char *colon = strchr(text, ':'), *end, *arrow;

	text = colon ? colon + 1 : text;
	end = text + strcspn(text, " ");
	hang_text_take(op->name, sizeof(op->name), text, (size_t)(end - text));
	arrow = strpbrk(end, "<-");
	if (arrow && (starts_with(arrow, "->") || starts_with(arrow, "<-")) && arrow[2] >= '0' &&
	    arrow[2] <= '9')
		op->peer = strtoll(arrow + 2, NULL, DECIMAL);
}

static void take_op(struct hang_dump *dump, const struct hang_value *entry, size_t group, bool p2p)
{
	const char *state = hang_value_text(hang_value_get(entry, "state"));
	struct hang_op op = {
		.group = (uint32_t)group, .seq = HANG_UNKNOWN, .peer = HANG_UNKNOWN, .for_s = NAN
	};

	if (streq(state, "completed"))
		return;
	if (dump->n_ops >= HANG_DUMP_OPS_MAX) {
		dump->n_ops_left++;
		return;
	}
	op.state = streq(state, "started") ? HANG_OP_STARTED : HANG_OP_ENQUEUED;
	take_name(&op, hang_value_text(hang_value_get(entry, "profiling_name")));
	if (!p2p)
		op.peer = HANG_UNKNOWN;
	(void)hang_value_number(hang_value_get(entry, p2p ? "p2p_seq_id" : "collective_seq_id"),
				&op.seq);
	op.count = count_of(hang_value_get(entry, "input_sizes"));
	op.count_out = count_of(hang_value_get(entry, "output_sizes"));
	copy(op.dtype, sizeof(op.dtype), hang_value_at(hang_value_get(entry, "input_dtypes"), 0));
	dump->ops[dump->n_ops++] = op;
}

static int read_entries(struct hang_dump *dump, const struct hang_value *entries, struct err *err)
{
	const struct hang_value *entry;
	struct hang_dump_group *group;
	int64_t number;
	size_t i, n = hang_value_size(entries);
	bool p2p;

	if (entries->kind != HANG_VALUE_LIST)
		return err_set(err, EINVAL, "%s: entries: must be a list", dump->file);
	if (n > HANG_DUMP_ENTRIES_MAX)
		return err_set(err, E2BIG, "%s: entries: more than %d", dump->file,
			       HANG_DUMP_ENTRIES_MAX);
	dump->ops = xcalloc(MIN(n, (size_t)HANG_DUMP_OPS_MAX) + 1, sizeof(*dump->ops));
	for (i = 0; i < n; i++) {
		entry = hang_value_at(entries, i);
		group = find_group(dump, hang_value_text(hang_value_at(
						 hang_value_get(entry, "process_group"), 0)));
		if (!group)
			continue;
		number = 0;
		p2p = hang_value_is_true(hang_value_get(entry, "is_p2p"));
		(void)hang_value_number(hang_value_get(entry, "p2p_seq_id"), &number);
		group->p2p = group->p2p || p2p || number > 0;
		take_op(dump, entry, (size_t)(group - dump->groups), p2p);
	}
	return 0;
}

/* --- whose dump it is ---------------------------------------------------------- */

static bool has_member(const struct hang_dump_group *group, int64_t rank)
{
	size_t i;

	for (i = 0; i < group->size; i++)
		if (group->ranks[i] == rank)
			return true;
	return group->size == 0;
}

bool hang_dump_may_be(const struct hang_dump *dump, int64_t rank)
{
	size_t i;

	for (i = 0; i < dump->n_groups; i++)
		if (!has_member(&dump->groups[i], rank))
			return false;
	return true;
}

/* A process lists the groups that it is in: the only rank in all of them; -1. */
static int64_t prove_rank(const struct hang_dump *dump)
{
	CLEANUP(freep) uint32_t *in = xcalloc(HANG_RANKS_MAX, sizeof(*in));
	const struct hang_dump_group *group;
	int64_t found = -1;
	uint32_t groups = 0;
	size_t i, k;

	for (i = 0; i < dump->n_groups; i++) {
		group = &dump->groups[i];
		/* A member listed twice counts once. */
		for (k = 0; k < group->size; k++)
			if (in[group->ranks[k]] == groups)
				in[group->ranks[k]]++;
		groups += group->size > 0;
	}
	for (i = 0; i < HANG_RANKS_MAX && groups > 0; i++) {
		if (in[i] != groups)
			continue;
		if (found >= 0)
			return -1;
		found = (int64_t)i;
	}
	return found;
}

int hang_dump_read(struct hang_dump *dump, const struct hang_value *document, const char *file,
		   struct err *err)
{
	const struct hang_value *entries = hang_value_get(document, "entries");
	int r;

	dump->file = xstrdup(file);
	dump->name_rank = hang_dump_name_rank(file);
	dump->taken = -1;
	if (!hang_dump_is(document))
		return err_set(err, EINVAL,
			       "%s: no dump of the flight recorder: it has no entries "
			       "and groups",
			       file);
	r = read_groups(dump, hang_value_get(document, "pg_config"), err);
	sort_names(dump);
	if (r == 0)
		r = read_status(dump, hang_value_get(document, "pg_status"), entries, err);
	if (r == 0)
		r = read_entries(dump, entries, err);
	dump->rank = prove_rank(dump);
	return r;
}

static bool same_group(const struct hang_dump_group *a, const struct hang_dump_group *b)
{
	return streq(a->name, b->name) && a->size == b->size && a->has_status == b->has_status &&
	       a->enqueued == b->enqueued && a->completed == b->completed &&
	       (a->size == 0 || memcmp(a->ranks, b->ranks, a->size * sizeof(*a->ranks)) == 0);
}

bool hang_dump_equal(const struct hang_dump *a, const struct hang_dump *b)
{
	size_t i;

	if (a->n_groups != b->n_groups || a->n_ops != b->n_ops)
		return false;
	for (i = 0; i < a->n_groups; i++)
		if (!same_group(&a->groups[i], &b->groups[i]))
			return false;
	for (i = 0; i < a->n_ops; i++)
		if (a->ops[i].group != b->ops[i].group || a->ops[i].seq != b->ops[i].seq ||
		    !streq(a->ops[i].name, b->ops[i].name) || a->ops[i].count != b->ops[i].count)
			return false;
	return true;
}
