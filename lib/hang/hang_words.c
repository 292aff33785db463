/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_words.h"

#include "lib/base/strbuf.h"

enum { NAMED_FEW = 8 }; /* ranks that a sentence names */

static json_t *numbers(const uint32_t *ranks, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_integer(ranks[i]));
	return list;
}

static json_t *nodes(const struct hang_case *c, const uint32_t *ranks, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, ranks[i] < c->n_ranks && c->ranks[ranks[i]].node[0]
							  ? json_string(c->ranks[ranks[i]].node)
							  : json_null());
	return list;
}

static json_t *texts(const struct hang_sentences *sentences)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < sentences->n; i++)
		(void)json_array_append_new(list, json_string(sentences->text[i]));
	if (sentences->left_out > 0)
		(void)json_array_append_new(list, json_sprintf("and %zu more", sentences->left_out));
	return list;
}

json_t *hang_words_json(const struct hang_case *c, const struct hang_verdict *verdict)
{
	return json_pack("{s:i, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:o}", "v", 1, "kind",
			 "hang", "ranks", numbers(verdict->ranks, verdict->n_ranks), "suspects",
			 numbers(verdict->suspects, verdict->n_suspects), "class",
			 hang_class_names[verdict->class], "evidence", texts(&verdict->evidence),
			 "missing", texts(&verdict->missing), "tell", texts(&verdict->tell), "act",
			 hang_act_names[verdict->act], "nodes",
			 nodes(c, verdict->ranks, verdict->n_ranks), "suspect_nodes",
			 nodes(c, verdict->suspects, verdict->n_suspects));
}

static void put_ranks(const struct hang_case *c, const uint32_t *ranks, size_t n,
		      struct strbuf *text)
{
	const struct hang_rank *rank;
	size_t i;

	(void)strbuf_puts(text, n == 1 ? "rank " : "ranks ");
	for (i = 0; i < n && i < NAMED_FEW; i++) {
		(void)strbuf_printf(text, "%s%u",
				    i == 0	 ? ""
				    : i + 1 == n ? " and "
						 : ", ",
				    ranks[i]);
		rank = ranks[i] < c->n_ranks ? &c->ranks[ranks[i]] : NULL;
		if (rank && rank->node[0])
			(void)strbuf_printf(text, " (%s%s%s)", rank->node, rank->gpu[0] ? ", " : "",
					    rank->gpu);
	}
	if (n > NAMED_FEW)
		(void)strbuf_printf(text, " and %zu more", n - NAMED_FEW);
}

static const char *const said[HANG_CLASSES] = {
	[HANG_HOST_STALLED] = "stopped on the host: what the others wait for was never launched",
	[HANG_OWN_GPU_STOPPED] =
		"stopped on the GPU: it does not finish what the others have finished",
	[HANG_FABRIC] = "wait for the network: all are at the same operation and nothing moves",
	[HANG_MISMATCH] = "called a different operation than the others",
	[HANG_EQUAL_COUNT] =
		"All ranks launched the same operations and none finishes: no rank is behind",
	[HANG_CANNOT_SAY] = "It is unknown which rank has stopped",
};

void hang_words_sentence(const struct hang_case *c, const struct hang_verdict *verdict,
			 struct strbuf *text)
{
	(void)strbuf_printf(text, "%s: ", hang_class_names[verdict->class]);
	if (verdict->n_ranks > 0) {
		put_ranks(c, verdict->ranks, verdict->n_ranks, text);
		(void)strbuf_puts(text, " ");
	}
	(void)strbuf_puts(text, said[verdict->class]);
	if (verdict->n_suspects > 0) {
		(void)strbuf_puts(text, "; suspected, unproven: ");
		put_ranks(c, verdict->suspects, verdict->n_suspects, text);
	}
}

static const char *const acts[HANG_ACTS] = {
	[HANG_ACT_COLLECT] = "Nobody can be blamed yet: collect what is missing.",
	[HANG_ACT_STACKS] =
		"Look at the stacks of these ranks, then restart the job; evict no host.",
	[HANG_ACT_OWNER] = "The job's owner should act; evict no host.",
	[HANG_ACT_TEST_HOST] = "Test these hosts once the job has left them.",
	[HANG_ACT_EVICT] = "Evict these hosts: the driver reported that a GPU is broken.",
	[HANG_ACT_PAIR_PROBE] = "Test these hosts with each other.",
};

const char *hang_words_act(const struct hang_verdict *verdict)
{
	return acts[verdict->act];
}
