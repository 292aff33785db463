/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hang/hang_writer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { TEXTS_MAX = 512, FIRST_TIME_NS_SHIFT = 60, LIST_MAX = 512, NAME_STRIDE = 7 };

/* A pickle being written: strings and containers are memoized, as torch does. */
struct pickle {
	struct strbuf *out;
	char *texts[TEXTS_MAX]; /* owned */
	uint32_t places[TEXTS_MAX];
	size_t n_texts;
	uint32_t n_memo;
};

static void byte(struct pickle *p, unsigned char value)
{
	(void)strbuf_add(p->out, &value, 1);
}

static void number(struct pickle *p, unsigned char opcode, uint64_t value, size_t n)
{
	size_t i;

	byte(p, opcode);
	for (i = 0; i < n; i++)
		byte(p, (unsigned char)(value >> (8 * i)));
}

static uint32_t remember(struct pickle *p)
{
	if (p->n_memo < 256)
		number(p, 'q', p->n_memo, 1);
	else
		number(p, 'r', p->n_memo, 4);
	return p->n_memo++;
}

static void recall(struct pickle *p, uint32_t place)
{
	if (place < 256)
		number(p, 'h', place, 1);
	else
		number(p, 'j', place, 4);
}

static void text(struct pickle *p, const char *value)
{
	size_t i;

	for (i = 0; i < p->n_texts; i++)
		if (streq(p->texts[i], value)) {
			recall(p, p->places[i]);
			return;
		}
	number(p, 'X', strlen(value), 4);
	(void)strbuf_add(p->out, value, strlen(value));
	if (p->n_texts == TEXTS_MAX) {
		(void)remember(p);
		return;
	}
	p->texts[p->n_texts] = xstrdup(value);
	p->places[p->n_texts++] = remember(p);
}

static void integer(struct pickle *p, int64_t value)
{
	if (value >= 0 && value < 1 << 8)
		number(p, 'K', (uint64_t)value, 1);
	else if (value >= 0 && value < 1 << 16)
		number(p, 'M', (uint64_t)value, 2);
	else if (value >= INT32_MIN && value <= INT32_MAX)
		number(p, 'J', (uint64_t)value, 4);
	else {
		byte(p, 0x8a);
		number(p, 8, (uint64_t)value, 8);
	}
}

static void boolean(struct pickle *p, bool value)
{
	byte(p, value ? 0x88 : 0x89);
}

static void none(struct pickle *p)
{
	byte(p, 'N');
}

static void open_container(struct pickle *p, unsigned char opcode)
{
	byte(p, opcode);
	(void)remember(p);
	byte(p, '(');
}

/* --- the parts of a dump ------------------------------------------------------------- */

/* Group numbers are global in the job, so those of a process have gaps. */
static char *name_of(uint32_t group)
{
	return xasprintf("%u", group * NAME_STRIDE % 10 + group * 10);
}

static int64_t pg_id(const struct world_rank *rank, size_t slot)
{
	return slot == 0 ? 0 : (int64_t)(slot * 2 + rank->groups[1] % 3);
}

static char *list_ranks(const struct world_group *group)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(LIST_MAX);
	size_t i;

	for (i = 0; i < group->size; i++)
		(void)strbuf_printf(&list, "%s%u", i ? ", " : "[", group->ranks[i]);
	(void)strbuf_puts(&list, "]");
	return xstrdup(strbuf_text(&list));
}

/* The keys are strings, not numbers, as in PyTorch. */
static void write_config(struct pickle *p, const struct world *w, const struct world_rank *rank)
{
	size_t i;

	open_container(p, '}');
	for (i = 0; i < rank->n_groups; i++) {
		const struct world_group *group = &w->groups[rank->groups[i]];
		CLEANUP(freep) char *name = name_of(rank->groups[i]);
		CLEANUP(freep) char *ranks = list_ranks(group);

		text(p, name);
		open_container(p, '}');
		text(p, "name");
		text(p, name);
		text(p, "desc");
		text(p, group->desc);
		text(p, "ranks");
		text(p, ranks);
		byte(p, 'u');
	}
	byte(p, 'u');
}

static void write_status(struct pickle *p, const struct world_rank *rank)
{
	size_t i;

	open_container(p, '}');
	for (i = rank->n_groups; i > 0; i--) {
		CLEANUP(freep) char *id = xasprintf("%" PRId64, pg_id(rank, i - 1));
		int64_t launched = (int64_t)rank->colls[i - 1] + rank->p2ps[i - 1];

		text(p, id);
		open_container(p, '}');
		text(p, "last_enqueued_collective");
		integer(p, launched > 0 ? launched : -1);
		text(p, "last_started_collective");
		integer(p, -1);
		text(p, "last_completed_collective");
		integer(p, rank->seen[i - 1] > 0 ? (int64_t)rank->seen[i - 1] : -1);
		byte(p, 'u');
	}
	byte(p, 'u');
}

static char *profiling_name(const struct world *w, size_t at, const struct world_op *op)
{
	const struct world_group *group = &w->groups[w->ranks[at].groups[op->slot]];
	size_t place = 0;

	while (group->ranks[place] != at)
		place++;
	if (op->kind == WORLD_SEND)
		return xasprintf("nccl:send %zu->%u", place, op->peer);
	if (op->kind == WORLD_RECV)
		return xasprintf("nccl:recv %zu<-%u", place, op->peer);
	return xasprintf("nccl:%s", world_kind_names[op->kind]);
}

static void write_sizes(struct pickle *p, int64_t count)
{
	open_container(p, ']');
	open_container(p, ']');
	integer(p, count);
	byte(p, 'e');
	byte(p, 'e');
}

static void write_types(struct pickle *p)
{
	open_container(p, ']');
	text(p, "BFloat16");
	byte(p, 'e');
}

static void write_entry(struct pickle *p, const struct world *w, size_t at, size_t i)
{
	const struct world_rank *rank = &w->ranks[at];
	const struct world_op *op = &rank->ops[i];
	CLEANUP(freep) char *name = name_of(rank->groups[op->slot]);
	CLEANUP(freep) char *what = profiling_name(w, at, op);
	bool p2p = op->kind == WORLD_SEND || op->kind == WORLD_RECV;

	open_container(p, '}');
	text(p, "record_id"), integer(p, (int64_t)i);
	text(p, "pg_id"), integer(p, pg_id(rank, op->slot));
	text(p, "process_group"), text(p, name);
	text(p, w->groups[rank->groups[op->slot]].desc), byte(p, 0x86);
	text(p, "thread_name"), text(p, "python3");
	text(p, "thread_id"), text(p, "23456244340032");
	text(p, "collective_seq_id"), integer(p, p2p ? 29 : op->seq);
	text(p, "p2p_seq_id"), integer(p, p2p ? op->seq : 0);
	text(p, "op_id"), integer(p, op->number);
	text(p, "profiling_name"), text(p, what);
	text(p, "time_created_ns"), integer(p, (INT64_C(1) << FIRST_TIME_NS_SHIFT) + (int64_t)i);
	text(p, "input_sizes"), write_sizes(p, op->count);
	text(p, "input_dtypes"), write_types(p);
	text(p, "output_sizes"), write_sizes(p, op->count);
	text(p, "output_dtypes"), write_types(p);
	text(p, "state"), text(p, "scheduled");
	text(p, "time_discovered_started_ns"), none(p);
	text(p, "time_discovered_completed_ns"), none(p);
	text(p, "retired"), boolean(p, false);
	text(p, "timeout_ms"), integer(p, 180000);
	text(p, "is_p2p"), boolean(p, p2p);
	byte(p, 'u');
}

void hang_writer_dump(const struct world *w, size_t rank, struct strbuf *out)
{
	struct pickle p = { .out = out };
	size_t i;

	number(&p, 0x80, 2, 1);
	open_container(&p, '}');
	text(&p, "version"), text(&p, "2.9");
	text(&p, "pg_config"), write_config(&p, w, &w->ranks[rank]);
	text(&p, w->ranks[rank].groups[1] % 2 ? "nccl_version" : "comm_lib_version");
	text(&p, "2.27.3");
	text(&p, "pg_status"), write_status(&p, &w->ranks[rank]);
	text(&p, "entries");
	open_container(&p, ']');
	for (i = 0; i < w->ranks[rank].n_ops; i++)
		if (!w->ranks[rank].ops[i].seen)
			write_entry(&p, w, rank, i);
	byte(&p, 'e');
	byte(&p, 'u');
	byte(&p, '.');
	for (i = 0; i < p.n_texts; i++)
		free(p.texts[i]);
}

/* --- the same in JSON --------------------------------------------------------------------- */

static json_t *json_entry(const struct world *w, size_t at, size_t i)
{
	const struct world_rank *rank = &w->ranks[at];
	const struct world_op *op = &rank->ops[i];
	CLEANUP(freep) char *name = name_of(rank->groups[op->slot]);
	CLEANUP(freep) char *what = profiling_name(w, at, op);
	bool p2p = op->kind == WORLD_SEND || op->kind == WORLD_RECV;

	return json_pack(
		"{s:I, s:I, s:[s, s], s:I, s:I, s:s, s:[[I]], s:[s], s:[[I]], s:s, s:i, s:b}",
		"record_id", (json_int_t)i, "pg_id", (json_int_t)pg_id(rank, op->slot),
		"process_group", name, w->groups[rank->groups[op->slot]].desc, "collective_seq_id",
		(json_int_t)(p2p ? 29 : op->seq), "p2p_seq_id", (json_int_t)(p2p ? op->seq : 0),
		"profiling_name", what, "input_sizes", (json_int_t)op->count, "input_dtypes",
		"BFloat16", "output_sizes", (json_int_t)op->count, "state", "scheduled",
		"time_discovered_started_ns", 0, "is_p2p", p2p);
}

static void json_group(const struct world *w, const struct world_rank *rank, size_t slot,
		       json_t *config, json_t *status)
{
	const struct world_group *group = &w->groups[rank->groups[slot]];
	CLEANUP(freep) char *name = name_of(rank->groups[slot]);
	CLEANUP(freep) char *id = xasprintf("%" PRId64, pg_id(rank, slot));
	CLEANUP(freep) char *ranks = list_ranks(group);
	uint32_t launched = rank->colls[slot] + rank->p2ps[slot];
	CLEANUP(freep) char *enqueued = xasprintf("%" PRId64, launched ? (int64_t)launched : -1);
	CLEANUP(freep)
	char *seen = xasprintf("%" PRId64, rank->seen[slot] ? (int64_t)rank->seen[slot] : -1);

	(void)json_object_set_new(
		config, name,
		json_pack("{s:s, s:s, s:s}", "name", name, "desc", group->desc, "ranks", ranks));
	(void)json_object_set_new(status, id,
				  json_pack("{s:s, s:s, s:s}", "last_enqueued_collective", enqueued,
					    "last_started_collective", "-1",
					    "last_completed_collective", seen));
}

void hang_writer_json(const struct world *w, size_t rank, struct strbuf *out)
{
	json_t *config = json_object(), *status = json_object(), *entries = json_array();
	json_t *document = json_pack("{s:s, s:o, s:s, s:o, s:o}", "version", "2.10", "pg_config",
				     config, "comm_lib_version", "2.28.9", "pg_status", status,
				     "entries", entries);
	CLEANUP(freep) char *line = NULL;
	size_t i;

	for (i = 0; i < w->ranks[rank].n_groups; i++)
		json_group(w, &w->ranks[rank], i, config, status);
	for (i = 0; i < w->ranks[rank].n_ops; i++)
		if (!w->ranks[rank].ops[i].seen)
			(void)json_array_append_new(entries, json_entry(w, rank, i));
	line = json_dumps(document, JSON_COMPACT);
	(void)strbuf_puts(out, line);
	json_decref(document);
}
