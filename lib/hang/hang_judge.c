/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_judge.h"

#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/hang/hang_chain.h"
#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_hosts.h"
#include "lib/hang/hang_mismatch.h"
#include "lib/hang/hang_rules.h"
#include "lib/hang/hang_verdict.h"

enum { LISTED_MAX = 24 }; /* ranks that one sentence lists */

const char *const hang_class_names[HANG_CLASSES + 1] = {
	[HANG_CANNOT_SAY] = "cannot say",
	[HANG_HOST_STALLED] = "host-stalled",
	[HANG_OWN_GPU_STOPPED] = "own-gpu-stopped",
	[HANG_FABRIC] = "fabric",
	[HANG_MISMATCH] = "mismatch",
	[HANG_EQUAL_COUNT] = "equal-count",
	[HANG_CLASSES] = NULL,
};

const char *const hang_act_names[HANG_ACTS + 1] = {
	[HANG_ACT_COLLECT] = "collect",
	[HANG_ACT_STACKS] = "stacks",
	[HANG_ACT_OWNER] = "owner",
	[HANG_ACT_TEST_HOST] = "test-host",
	[HANG_ACT_EVICT] = "evict",
	[HANG_ACT_PAIR_PROBE] = "pair-probe",
	[HANG_ACTS] = NULL,
};

static void conclude(struct hang_verdict *verdict, enum hang_class class, enum hang_act act)
{
	verdict->class = class;
	verdict->act = act;
}

/* --- what is missing, and what would be needed -------------------------------------- */

static bool is_missing(const struct hang_facts *facts, size_t rank, unsigned source)
{
	if (source == 0)
		return facts->c->ranks[rank].sources == 0 && !facts->ranks[rank].known;
	return !(facts->c->ranks[rank].sources & source) && facts->c->ranks[rank].sources != 0;
}

/* One sentence with the ranks that lack something, if some do and some do not. */
static void say_missing(const struct hang_facts *facts, unsigned source, const char *what,
			struct hang_verdict *verdict)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(HANG_SENTENCE_SIZE - 1);
	size_t i, n = 0, n_ranks = facts->c->n_ranks;

	for (i = 0; i < n_ranks; i++) {
		if (!is_missing(facts, i, source))
			continue;
		if (n++ < LISTED_MAX)
			(void)strbuf_printf(&list, "%s%zu", n == 1 ? "" : ", ", i);
	}
	if (n == 0 || (source != 0 && n == n_ranks))
		return;
	hang_verdict_say(&verdict->missing, "%s of rank%s %s%s (%zu of %zu)", what,
			 n == 1 ? "" : "s", strbuf_text(&list), n > LISTED_MAX ? " ..." : "", n,
			 n_ranks);
}

static void say_all_missing(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	size_t i, n_dumps = 0;

	for (i = 0; i < facts->c->n_missing; i++)
		hang_verdict_say(&verdict->missing, "%s", facts->c->missing[i]);
	for (i = 0; i < facts->c->n_ranks; i++)
		n_dumps += (facts->c->ranks[i].sources & HANG_FLIGHT_RECORDER) != 0;
	say_missing(facts, 0, n_dumps > 0 ? "no dump, and nothing else," : "nothing is known",
		    verdict);
	if (n_dumps > 0)
		say_missing(facts, HANG_FLIGHT_RECORDER, "no dump of the flight recorder", verdict);
}

static bool has_source(const struct hang_case *c, unsigned source)
{
	size_t i;

	for (i = 0; i < c->n_ranks; i++)
		if (c->ranks[i].sources & source)
			return true;
	return false;
}

static void say_tell(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_case *c = facts->c;

	if (verdict->class == HANG_HOST_STALLED && !has_source(c, HANG_STACK))
		hang_verdict_say(&verdict->tell,
				 "stacks of the ranks named (py-spy dump --nonblocking) "
				 "would show where their programs are");
	if (verdict->class == HANG_OWN_GPU_STOPPED && verdict->act != HANG_ACT_EVICT)
		hang_verdict_say(&verdict->tell,
				 "the kernel log of their hosts: an Xid would "
				 "prove that the GPU is bad; without one, test the host");
	if (verdict->class != HANG_CANNOT_SAY && verdict->class != HANG_EQUAL_COUNT)
		return;
	if (verdict->missing.n > 0)
		hang_verdict_say(
			&verdict->tell,
			"what is missing: dumps, or what their hosts report about the processes");
	if (!has_source(c, HANG_RING))
		hang_verdict_say(&verdict->tell,
				 "rings of the NCCL plug-in: which ranks have started, and what "
				 "proxies wait for");
	if (!has_source(c, HANG_STACK | HANG_PROCESS))
		hang_verdict_say(&verdict->tell, "states and stacks of the processes");
}

/* --- the order of the rules ----------------------------------------------------------- */

/* Suspects besides the proven culprits. */
static void add_suspects(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	(void)hang_chain_unknown(facts, verdict);
}

/* Concludes only if a rule names somebody. */
static int judge_own_gpu(const struct hang_facts *facts, struct hang_verdict *verdict,
			 struct err *err)
{
	int r = hang_rules_own_gpu(facts, verdict, err);

	if (r == 0 && (verdict->n_ranks > 0 || hang_rules_stream(facts, verdict) > 0))
		conclude(verdict, HANG_OWN_GPU_STOPPED, HANG_ACT_TEST_HOST);
	return r;
}

/* Rules on counters and hosts that prove something; false if none applied. */
static int judge_proofs(const struct hang_facts *facts, struct hang_verdict *verdict,
			struct err *err)
{
	size_t stopped;
	bool found = false;
	int r;

	if (hang_hosts_xid(facts, verdict) > 0) {
		conclude(verdict, HANG_OWN_GPU_STOPPED, HANG_ACT_EVICT);
		return 0;
	}
	stopped = hang_hosts_process(facts, verdict);
	if (hang_rules_idle(facts, verdict) + stopped > 0) {
		conclude(verdict, HANG_HOST_STALLED, stopped > 0 ? HANG_ACT_OWNER : HANG_ACT_STACKS);
		return 0;
	}
	r = judge_own_gpu(facts, verdict, err);
	if (r < 0 || verdict->class != HANG_CANNOT_SAY)
		return r;
	r = hang_mismatch(facts, verdict, &found, err);
	if (r == 0 && found)
		conclude(verdict, HANG_MISMATCH, HANG_ACT_OWNER);
	return r;
}

/* Rules on who waits for whom. */
static void judge_waits(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	bool fabric = false;
	int64_t equal;

	if (hang_chain_proxies(facts, verdict, &fabric) > 0 && !fabric) {
		conclude(verdict, HANG_OWN_GPU_STOPPED, HANG_ACT_TEST_HOST);
	} else if (fabric) {
		conclude(verdict, HANG_FABRIC, HANG_ACT_PAIR_PROBE);
	} else if (hang_chain_counts(facts, verdict) > 0 ||
		   hang_hosts_elsewhere(facts, verdict) > 0) {
		conclude(verdict, HANG_HOST_STALLED, HANG_ACT_STACKS);
	}
	if (verdict->class != HANG_CANNOT_SAY || verdict->n_suspects > 0)
		return;
	equal = hang_chain_equal(facts);
	if (equal < 0)
		return;
	conclude(verdict, HANG_EQUAL_COUNT, HANG_ACT_COLLECT);
	hang_verdict_say(&verdict->evidence,
			 "%s: all %zu members have launched operation %" PRId64
			 ", and none has finished it",
			 hang_facts_group(facts->c, (uint32_t)equal), facts->c->groups[equal].size,
			 facts->groups[equal].counts_only ? facts->groups[equal].enqueued_most
							  : facts->groups[equal].seq);
}

int hang_judge(const struct hang_case *c, struct hang_verdict *ret, struct err *err)
{
	CLEANUP(hang_facts_release) struct hang_facts facts = { .c = NULL };
	int r;

	memset(ret, 0, sizeof(*ret));
	r = hang_facts_init(&facts, c, err);
	if (r == 0)
		r = judge_proofs(&facts, ret, err);
	if (r < 0)
		return r;
	if (ret->class == HANG_CANNOT_SAY)
		judge_waits(&facts, ret);
	add_suspects(&facts, ret);
	say_all_missing(&facts, ret);
	say_tell(&facts, ret);
	return 0;
}
