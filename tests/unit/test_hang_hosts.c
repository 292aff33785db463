/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts' reports on processes and GPUs, without counts of operations: what is proof, and what is
 * not. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_judge.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

enum { RANKS = 6, DOCUMENT_MAX = 4096 };

#define WAITS "\"process\":{\"state\":\"futex\",\"syscall\":\"futex\",\"for_s\":90}"
#define SLEEPS(seconds) \
	"\"process\":{\"state\":\"sleeping\",\"syscall\":\"read\",\"for_s\":" seconds "}"
#define IS(state, seconds) "\"process\":{\"state\":\"" state "\",\"for_s\":" seconds "}"
#define SPINS "\"process\":{\"state\":\"spinning\",\"for_s\":90}"

static const struct {
	const char *what, *ranks[RANKS]; /* the first of them; the others wait */
	enum hang_class class;
	enum hang_act act;
	size_t named, suspects;
} cases[] = {
	{ "stopped", { IS("stopped", "1") }, HANG_HOST_STALLED, HANG_ACT_OWNER, 1, 0 },
	/* States that are passed through prove nothing before they have lasted. */
	{ "in disk sleep for long", { IS("disk", "31") }, HANG_HOST_STALLED, HANG_ACT_OWNER, 1, 0 },
	{ "in disk sleep", { IS("disk", "29") }, HANG_CANNOT_SAY, HANG_ACT_COLLECT, 0, 0 },
	{ "traced for long", { IS("traced", "31") }, HANG_HOST_STALLED, HANG_ACT_OWNER, 1, 0 },
	{ "traced", { IS("traced", "29") }, HANG_CANNOT_SAY, HANG_ACT_COLLECT, 0, 0 },
	/* One that has ended; of a job that has ended nobody knows who was first. */
	{ "gone", { IS("gone", "9"), IS("gone", "9") }, HANG_HOST_STALLED, HANG_ACT_OWNER, 2, 0 },
	{ "most are gone",
	  { IS("gone", "9"), IS("gone", "9"), IS("zombie", "9"), IS("gone", "9") },
	  HANG_CANNOT_SAY,
	  HANG_ACT_COLLECT,
	  0,
	  0 },
	/* One that is elsewhere, for long; in a loop, which may wait for its GPU. */
	{ "elsewhere for long", { SLEEPS("31") }, HANG_HOST_STALLED, HANG_ACT_STACKS, 1, 0 },
	{ "elsewhere", { SLEEPS("29") }, HANG_CANNOT_SAY, HANG_ACT_COLLECT, 0, 1 },
	{ "in a loop", { SPINS }, HANG_HOST_STALLED, HANG_ACT_STACKS, 1, 0 },
	{ "in a loop, with a GPU",
	  { SPINS ",\"gpu\":\"gpu 0\"" },
	  HANG_CANNOT_SAY,
	  HANG_ACT_COLLECT,
	  0,
	  1 },
	/* As many elsewhere as wait. */
	{ "half are elsewhere",
	  { SLEEPS("90"), SLEEPS("90"), SLEEPS("90") },
	  HANG_CANNOT_SAY,
	  HANG_ACT_COLLECT,
	  0,
	  0 },
	/* Only the GPU's own account takes its host out of service. */
	{ "Xid",
	  { "\"device\":{\"xid\":79}", IS("stopped", "90") },
	  HANG_OWN_GPU_STOPPED,
	  HANG_ACT_EVICT,
	  1,
	  0 },
};

static void judge(const char *const *ranks, struct hang_verdict *verdict)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(DOCUMENT_MAX);
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(json_freep) json_t *json = NULL;
	struct hang_head head;
	struct err err = ERR_INIT;
	struct jval root;
	size_t i;

	(void)strbuf_puts(&text, "{\"format\":\"assay-hang/1\",\"node\":\"gpu-1\",\"ranks\":[");
	for (i = 0; i < RANKS; i++)
		(void)strbuf_printf(&text, "%s{\"rank\":%zu,\"sources\":[\"process\"],%s}",
				    i ? "," : "", i, ranks[i] ? ranks[i] : WAITS);
	(void)strbuf_puts(&text, "]}");
	CHECK_EQ(json_parse(text.data, text.len, "doc", &json, &err), 0);
	root = jval_root(json, "doc");
	CHECK_EQ(hang_json_add(&c, &root, &head, &err), 0);
	CHECK_EQ(hang_judge(&c, verdict, &err), 0);
}

static void what_processes_do_proves_no_more_than_it_does(void)
{
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		judge(cases[i].ranks, verdict);
		if (verdict->class != cases[i].class || verdict->n_ranks != cases[i].named)
			printf("  %s: %s, %zu named\n", cases[i].what,
			       hang_class_names[verdict->class], verdict->n_ranks);
		CHECK_EQ(verdict->class, cases[i].class);
		CHECK_EQ(verdict->act, cases[i].act);
		CHECK_EQ(verdict->n_ranks, cases[i].named);
		CHECK_EQ(verdict->n_suspects, cases[i].suspects);
		CHECK(cases[i].named == 0 || verdict->ranks[0] == 0);
	}
}

static const struct test tests[] = {
	TEST(what_processes_do_proves_no_more_than_it_does),
};

TEST_SUITE(tests);
