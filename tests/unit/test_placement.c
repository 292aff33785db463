/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/placement.h"

#include <stdlib.h>

#include "tests/unit/test.h"

/* Times are whole numbers: what covers 2 and 3 covers the window. */
enum { FIRST = 2, LAST = 3, ENDS = 5, CLAIMS_OF_ALL = 40 };

static const struct placement_span window = { FIRST, LAST }, coarse;
static const char *const names[] = { "gpu-a", "gpu-b" };

/* All claims of two sources, two hosts and all spans from 1 to ENDS. */
static size_t all_claims(struct placement_claim ret[static CLAIMS_OF_ALL])
{
	size_t n = 0, node;
	uint64_t from, until;
	int source;

	for (source = PLACEMENT_PODS; source <= PLACEMENT_AGENTS; source++) {
		for (node = 0; node < ARRAY_SIZE(names); node++) {
			for (from = 1; from < ENDS; from++) {
				for (until = from + 1; until <= ENDS; until++)
					ret[n++] = (struct placement_claim){
						(enum placement_source)source, names[node], from,
						until
					};
			}
		}
	}
	return n;
}

static bool has(const struct placement_claim *claims, size_t n, int source, const char *node,
		uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if ((int)claims[i].source == source && streq(claims[i].node, node) &&
		    claims[i].from_us <= at && at < claims[i].until_us)
			return true;
	}
	return false;
}

/* By looking at each moment: on which hosts does each source have it, and is it there always? */
static struct placement_found expected(const struct placement_claim *claims, size_t n)
{
	struct placement_found found = { .source = PLACEMENT_TRACE };
	bool on[2][2], whole[2][2];
	int source;
	size_t node;

	for (source = 0; source < 2; source++) {
		for (node = 0; node < 2; node++) {
			const bool first = has(claims, n, source, names[node], FIRST),
				   last = has(claims, n, source, names[node], LAST);

			on[source][node] = first || last;
			whole[source][node] = first && last;
		}
	}
	found.known = on[0][0] || on[0][1] || on[1][0] || on[1][1];
	if (!found.known)
		return found;
	if ((on[0][0] && on[0][1]) || (on[1][0] && on[1][1]))
		found.doubt = PLACEMENT_MOVED;
	else if ((on[0][0] && on[1][1]) || (on[0][1] && on[1][0]))
		found.doubt = PLACEMENT_DISAGREE;
	else
		found.doubt = PLACEMENT_GAP;
	for (source = 1; found.doubt == PLACEMENT_GAP && source >= 0; source--) {
		for (node = 0; node < 2; node++) {
			if (!whole[source][node])
				continue;
			found.node = names[node];
			found.source = (enum placement_source)source;
		}
	}
	if (found.node)
		found.doubt = PLACEMENT_SURE;
	return found;
}

static bool same(const struct placement_found *a, const struct placement_found *b)
{
	return a->known == b->known && a->doubt == b->doubt && streq(a->node, b->node) &&
	       a->source == b->source;
}

static void of_all_claims_of_three_the_answer_is_that_of_each_moment(void)
{
	struct placement_claim all[CLAIMS_OF_ALL];
	const size_t n = all_claims(all);
	size_t i, j, k, wrong = 0, sure = 0;

	CHECK_EQ(n, CLAIMS_OF_ALL);
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			for (k = 0; k < n; k++) {
				const struct placement_claim claims[] = { all[i], all[j], all[k] };
				size_t some;

				for (some = 0; some <= 3; some++) {
					struct placement_found is, be;

					is = placement_of_rank(claims, some, &window);
					be = expected(claims, some);
					wrong += !same(&is, &be);
					sure += is.node != NULL;
				}
			}
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK(sure > 10000);
}

/* A host says only where it is itself: that moves nobody to another one. */
static void a_lie_of_a_host_puts_a_rank_on_no_other_host(void)
{
	struct placement_claim all[CLAIMS_OF_ALL];
	const size_t n = all_claims(all);
	size_t i, j, k, bad = 0, doubted = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			for (k = 0; k < n; k++) {
				const struct placement_claim claims[] = { all[i], all[j], all[k] };
				const struct placement_found before = placement_of_rank(claims, 2,
											&window),
							     after = placement_of_rank(claims, 3,
										       &window);
				const bool lies = all[k].source == PLACEMENT_AGENTS;

				if (!lies || !after.node || streq(after.node, all[k].node))
					doubted += lies && before.node && !after.node;
				else
					bad += !streq(after.node, before.node);
			}
		}
	}
	CHECK_EQ(bad, 0);
	CHECK(doubted > 0);
}

static void a_window_that_nobody_dated_wants_one_host_at_all_times(void)
{
	const struct placement_claim claims[] = {
		{ PLACEMENT_AGENTS, "gpu-a", 1, 2 },
		{ PLACEMENT_AGENTS, "gpu-a", 7, 9 },
		{ PLACEMENT_PODS, "gpu-a", 100, 200 },
		{ PLACEMENT_AGENTS, "gpu-b", 1000, 2000 },
	};
	struct placement_found found = placement_of_rank(claims, 2, &coarse);

	CHECK_STR(found.node, "gpu-a");
	CHECK_EQ(found.source, PLACEMENT_AGENTS);
	found = placement_of_rank(claims, 3, &coarse);
	CHECK_STR(found.node, "gpu-a");
	CHECK_EQ(found.source, PLACEMENT_PODS);
	found = placement_of_rank(claims, 4, &coarse);
	CHECK_EQ(found.doubt, PLACEMENT_MOVED);
	found = placement_of_rank(claims, 0, &coarse);
	CHECK(!found.known);
}

/* --- groups --- */

enum { FINDS = 8, TRACES = 5 };

static const struct placement_found finds[FINDS] = {
	{ false, PLACEMENT_SURE, NULL, PLACEMENT_TRACE },
	{ true, PLACEMENT_SURE, "gpu-a", PLACEMENT_PODS },
	{ true, PLACEMENT_SURE, "gpu-a", PLACEMENT_AGENTS },
	{ true, PLACEMENT_SURE, "gpu-b", PLACEMENT_AGENTS },
	{ true, PLACEMENT_SURE, "gpu-c", PLACEMENT_PODS },
	{ true, PLACEMENT_MOVED, NULL, PLACEMENT_TRACE },
	{ true, PLACEMENT_DISAGREE, NULL, PLACEMENT_TRACE },
	{ true, PLACEMENT_GAP, NULL, PLACEMENT_TRACE },
};
static const char *const traces[TRACES][3] = {
	{ NULL }, { "gpu-a" }, { "gpu-b" }, { "gpu-a", "gpu-b" }, { "gpu-a", "gpu-b", "gpu-c" }
};

/* Sets of hosts as bits. */
static unsigned bit_of(const char *node)
{
	return node ? 1U << (unsigned)(node[4] - 'a') : 0;
}

static enum placement_doubt group_doubt(const size_t *which, size_t n, unsigned traced, bool bound)
{
	unsigned placed = 0;
	size_t i, known = 0;
	int doubt = PLACEMENT_DOUBTS;

	for (i = 0; i < n; i++) {
		const struct placement_found *f = &finds[which[i]];

		known += f->known;
		placed |= bit_of(f->node);
		if (f->doubt)
			doubt = MIN(doubt, (int)f->doubt);
	}
	if (doubt < PLACEMENT_DOUBTS)
		return (enum placement_doubt)doubt;
	if (known == n && n > 0)
		return traced & ~placed ? PLACEMENT_OTHER : PLACEMENT_SURE;
	if (!traced)
		return known ? PLACEMENT_PARTLY : PLACEMENT_NOWHERE;
	if (placed & ~traced)
		return PLACEMENT_OTHER;
	return bound ? PLACEMENT_UNPROVEN : PLACEMENT_SURE;
}

static size_t check_group(const size_t *which, size_t n, size_t trace, bool bound)
{
	struct placement_group group = { .n_hosts = 0 };
	unsigned placed = 0, found = 0, traced = 0;
	struct placement_traced said = { .hosts = traces[trace], .bound = bound };
	size_t i, known = 0, wrong = 0;
	enum placement_doubt doubt, be;

	for (i = 0; i < 3 && traces[trace][i]; i++, said.n++)
		traced |= bit_of(traces[trace][i]);
	for (i = 0; i < n; i++) {
		placement_group_add(&group, &finds[which[i]]);
		placed |= bit_of(finds[which[i]].node);
		known += finds[which[i]].known;
	}
	doubt = placement_group_judge(&group, &said);
	be = group_doubt(which, n, traced, bound);
	wrong += doubt != be;
	for (i = 0; i < group.n_hosts; i++) {
		found |= bit_of(group.hosts[i]);
		wrong += i > 0 && strcmp(group.hosts[i - 1], group.hosts[i]) >= 0;
	}
	if (be == PLACEMENT_SURE && known == n && n > 0)
		wrong += found != placed || group.source == PLACEMENT_TRACE;
	else if (be == PLACEMENT_SURE)
		wrong += group.source != PLACEMENT_TRACE;
	placement_group_release(&group);
	return wrong;
}

static void a_group_is_sure_when_all_its_ranks_are_and_the_trace_agrees(void)
{
	size_t i, j, k, trace, n, wrong = 0;

	for (i = 0; i < FINDS; i++) {
		for (j = 0; j < FINDS; j++) {
			for (k = 0; k < FINDS; k++) {
				const size_t which[] = { i, j, k };

				for (trace = 0; trace < TRACES; trace++) {
					for (n = 0; n <= 3; n++)
						wrong += check_group(which, n, trace, false) +
							 check_group(which, n, trace, true);
				}
			}
		}
	}
	CHECK_EQ(wrong, 0);
}

static void a_group_on_more_hosts_than_a_suspect_has_is_in_doubt(void)
{
	static const struct placement_traced nothing;
	struct placement_group group = { .n_hosts = 0 };
	char node[] = "gpu-000";
	int i;

	for (i = 0; i <= PLACEMENT_HOSTS_MAX; i++) {
		const struct placement_found found = { true, PLACEMENT_SURE, node,
						       PLACEMENT_AGENTS };

		node[5] = (char)('0' + i / 10);
		node[6] = (char)('0' + i % 10);
		CHECK_EQ(group.doubt, PLACEMENT_SURE);
		placement_group_add(&group, &found);
	}
	CHECK_EQ(placement_group_judge(&group, &nothing), PLACEMENT_MANY);
	placement_group_release(&group);
}

static void each_doubt_has_its_words(void)
{
	int doubt;

	CHECK(!placement_doubt_words[PLACEMENT_SURE]);
	for (doubt = PLACEMENT_SURE + 1; doubt < PLACEMENT_DOUBTS; doubt++)
		CHECK(placement_doubt_words[doubt] != NULL);
}

static const struct test tests[] = {
	TEST(of_all_claims_of_three_the_answer_is_that_of_each_moment),
	TEST(a_lie_of_a_host_puts_a_rank_on_no_other_host),
	TEST(a_window_that_nobody_dated_wants_one_host_at_all_times),
	TEST(a_group_is_sure_when_all_its_ranks_are_and_the_trace_agrees),
	TEST(a_group_on_more_hosts_than_a_suspect_has_is_in_doubt),
	TEST(each_doubt_has_its_words),
};

TEST_SUITE(tests);
