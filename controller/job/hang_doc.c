/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_doc.h"

#include <math.h>

#include "lib/hang/hang_case.h"
#include "lib/json/json.h"

#define RAS "ras"
#define FLIGHT_RECORDER "flight-recorder"

/* Process states that do not end by themselves, or not soon. */
static const struct {
	const char *state;
	bool sure; /* not caused by the job itself */
} stills[] = {
	{ "disk", false },  { "stopped", true }, { "traced", true },
	{ "zombie", true }, { "gone", true },
};

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* --- summary of a rank --- */

static void note_still(struct hang_doc_facts *f, double for_s, bool sure)
{
	if (!(for_s >= HANG_DOC_STILL_S))
		return;
	f->still_s = fmax(f->still_s, for_s);
	f->sure |= sure;
}

static void note_process(struct hang_doc_facts *f, const json_t *process)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(stills); i++) {
		if (streq(text(process, "state"), stills[i].state))
			note_still(f, number(process, "for_s"), stills[i].sure);
	}
}

/* Waiting operations are relevant; dumps are made only because something waits. */
static void note_ops(struct hang_doc_facts *f, const json_t *ops, bool dumped)
{
	size_t i;

	for (i = 0; i < json_array_size(ops); i++) {
		const json_t *op = json_array_get(ops, i);
		const double for_s = number(op, "for_s");

		if (streq(text(op, "state"), hang_op_state_names[HANG_OP_ENDED]))
			continue;
		note_still(f, dumped ? fmax(for_s, HANG_DOC_STILL_S) : for_s, dumped);
	}
}

static void note_positions(struct hang_doc_facts *f, const json_t *positions)
{
	static const char *const keys[] = { "enqueued", "started", "completed" };
	size_t i, k;

	for (i = 0; i < json_array_size(positions); i++) {
		const json_t *position = json_array_get(positions, i);

		for (k = 0; k < ARRAY_SIZE(keys); k++) {
			const double value = number(position, keys[k]);

			if (isnan(value))
				continue;
			f->positions++;
			f->progress += (uint64_t)(value + 1);
		}
	}
}

static void note_device(struct hang_doc_facts *f, const json_t *device)
{
	f->sure |= number(device, "xid") > 0;
	f->traffic |= number(device, "rdma_bytes_s") > HANG_DOC_TRAFFIC_BYTES_S;
}

static void note(struct hang_doc_facts *f, const json_t *rank)
{
	const bool dumped = json_has_text(json_object_get(rank, "sources"), FLIGHT_RECORDER);

	f->own++;
	note_process(f, json_object_get(rank, "process"));
	note_ops(f, json_object_get(rank, "ops"), dumped);
	note_positions(f, json_object_get(rank, "positions"));
	note_device(f, json_object_get(rank, "device"));
}

/* --- trusted content --- */

/* Keep only what RAS told of another host's rank. */
static void strip(json_t *rank)
{
	static const char *const others[] = { "process", "device", "pid", "gpu" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		(void)json_object_del(rank, others[i]);
	(void)json_object_set_new(rank, "sources", json_pack("[s]", RAS));
}

void hang_doc_cut(json_t *doc, const struct hang_places *places, const char *node,
		  struct hang_doc_facts *ret)
{
	const json_t *ranks = json_object_get(doc, "ranks");
	json_t *own = json_array(), *told = json_array();
	struct hang_doc_facts f = {
		.run = json_integer_value(json_object_get(doc, "run")),
		.world = json_integer_value(json_object_get(doc, "world")),
		.age_s = number(doc, "age_s"),
	};
	size_t i;

	f.age_s = f.age_s > 0 ? f.age_s : 0;
	for (i = 0; i < json_array_size(ranks); i++) {
		json_t *rank = json_array_get(ranks, i);
		const char *place =
			hang_places_node(places, json_integer_value(json_object_get(rank, "rank")));

		if (streq(place, node)) {
			note(&f, rank);
			(void)json_array_append(own, rank);
		} else if (place && json_has_text(json_object_get(rank, "sources"), RAS)) {
			strip(rank);
			f.told++;
			(void)json_array_append(told, rank);
		} else {
			f.refused++;
		}
	}
	(void)json_object_set_new(doc, "ranks", own);
	(void)json_object_set_new(doc, "told", told);
	*ret = f;
}
