/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of a flight recorder, pickle or JSON: read, added to a case, judged; and assay-hang/1. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_fr.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_words.h"
#include "lib/json/json.h"
#include "tests/fuzz/fuzz.h"

/* A verdict names each rank once, in order, and no culprit is also a suspect. */
static void check_verdict(const struct hang_case *c)
{
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	CLEANUP(json_freep) json_t *words = NULL;
	struct err err = ERR_INIT;
	size_t i, k;

	FUZZ_CHECK(hang_judge(c, verdict, &err) == 0);
	for (i = 0; i < verdict->n_ranks; i++) {
		FUZZ_CHECK(verdict->ranks[i] < c->n_ranks);
		FUZZ_CHECK(c->ranks[verdict->ranks[i]].sources != 0);
		FUZZ_CHECK(i == 0 || verdict->ranks[i - 1] < verdict->ranks[i]);
		for (k = 0; k < verdict->n_suspects; k++)
			FUZZ_CHECK(verdict->suspects[k] != verdict->ranks[i]);
	}
	FUZZ_CHECK(verdict->n_ranks == 0 || verdict->class != HANG_CANNOT_SAY);
	FUZZ_CHECK(verdict->act != HANG_ACT_EVICT || verdict->class == HANG_OWN_GPU_STOPPED);
	words = hang_words_json(c, verdict);
	FUZZ_CHECK(json_is_object(words));
}

/* An accepted case is the same after writing, reading and writing it again. */
static void check_round(const struct hang_case *c)
{
	CLEANUP(hang_case_release) struct hang_case again = { .n_ranks = 0 };
	struct hang_head head = { .node = "n", .run = 1, .age_s = 1 };
	CLEANUP(json_freep) json_t *first = hang_json_encode(c, &head);
	CLEANUP(json_freep) json_t *second = NULL;
	struct jval root = jval_root(first, "again");
	struct err err = ERR_INIT;
	int r = hang_json_add(&again, &root, NULL, &err);

	/* Documents that contradict each other about a group may be rejected together. */
	if (r < 0) {
		fuzz_refused(r, &err);
		return;
	}
	second = hang_json_encode(&again, &head);
	FUZZ_CHECK(json_array_size(json_object_get(first, "ranks")) ==
		   json_array_size(json_object_get(second, "ranks")));
}

static void take_document(const uint8_t *data, size_t size)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(json_freep) json_t *json = NULL;
	struct err err = ERR_INIT;
	struct jval root;
	int r;

	if (json_parse((const char *)data, size, "fuzz", &json, &err) < 0)
		return;
	root = jval_root(json, "fuzz");
	r = hang_json_add(&c, &root, NULL, &err);
	if (r < 0) {
		fuzz_refused(r, &err);
		return;
	}
	check_round(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(hang_fr_freep) struct hang_fr *fr = hang_fr_new();
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) void *bytes = fuzz_bytes(data, size);
	struct err err = ERR_INIT;
	int r = hang_fr_add(fr, "_dump_3", bytes, size, &err);

	take_document(data, size);
	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	r = hang_fr_put(fr, &c, &err);
	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	check_verdict(&c);
	check_round(&c);
	return 0;
}
