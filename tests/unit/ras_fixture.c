/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/ras_fixture.h"

#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

enum { TEXT_MAX = 4 << 20, INITIALISING = 7, SYSTEM_ERROR = 2 };

static const char *const functions[] = { "Broadcast", "Reduce", "AllGather", "ReduceScatter",
					 "AllReduce" };

static bool is_missing(const struct ras_fixture_rank *r)
{
	return r->state == RAS_FIXTURE_SILENT || r->state == RAS_FIXTURE_DEAD ||
	       r->state == RAS_FIXTURE_LEFT;
}

static unsigned host_of(const struct ras_fixture_rank *r)
{
	return 1 + r->rank / RAS_FIXTURE_HOST_RANKS;
}

static void put_identity(struct strbuf *out, const struct ras_fixture_rank *r, size_t place,
			 bool comma)
{
	(void)strbuf_printf(out,
			    "        {\n          \"rank\": %zu,\n          \"host\": "
			    "\"10.0.0.%u\",\n          \"pid\": %u,\n          \"cuda_dev\": %u,\n"
			    "          \"nvml_dev\": %u%s\n          \"status\": {\n",
			    place, host_of(r), RAS_FIXTURE_PID + r->rank,
			    r->rank % RAS_FIXTURE_HOST_RANKS, r->rank % RAS_FIXTURE_HOST_RANKS,
			    comma ? "," : "");
}

static void put_rank(struct strbuf *out, const struct ras_fixture_rank *r, size_t place)
{
	size_t i;

	put_identity(out, r, place, true);
	(void)strbuf_printf(out,
			    "            \"init_state\": %d,\n            \"async_error\": %d,\n"
			    "            \"finalize_called\": %s,\n"
			    "            \"destroy_flag\": false,\n"
			    "            \"abort_flag\": false\n          },\n"
			    "          \"collective_counts\": {\n",
			    r->state == RAS_FIXTURE_INIT ? INITIALISING : 0,
			    r->state == RAS_FIXTURE_ERROR ? SYSTEM_ERROR : 0,
			    r->state == RAS_FIXTURE_FINALIZE ? "true" : "false");
	for (i = 0; i < RAS_FIXTURE_FUNCTIONS; i++)
		(void)strbuf_printf(out, "            \"%s\": %lu%s\n", functions[i], r->counts[i],
				    i + 1 < RAS_FIXTURE_FUNCTIONS ? "," : "");
	(void)strbuf_puts(out, "          }\n        }");
}

static void put_missing(struct strbuf *out, const struct ras_fixture_rank *r, size_t place,
			bool comma)
{
	put_identity(out, r, place, comma);
	(void)strbuf_printf(out,
			    "            \"unresponsive\": %s,\n"
			    "            \"considered_dead\": %s\n          }\n        }",
			    r->state == RAS_FIXTURE_LEFT ? "false" : "true",
			    r->state == RAS_FIXTURE_DEAD ? "true" : "false");
}

static size_t count_missing(const struct ras_fixture_comm *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->n; i++)
		n += is_missing(&c->ranks[i]);
	return n;
}

static void put_comm(struct strbuf *out, const struct ras_fixture_comm *c, bool comma)
{
	const size_t missing = count_missing(c);
	const char *between = "";
	size_t i;

	(void)strbuf_printf(out,
			    "    {\n      \"hash\": \"0x%lx\",\n      \"secondary_hash\": "
			    "\"0x1:0x2\",\n      \"size\": %zu,\n      \"ranks_count\": %zu,\n"
			    "      \"missing_ranks_count\": %zu,\n      \"ranks\": [\n",
			    c->hash, c->n, c->n - missing, missing);
	for (i = 0; i < c->n; i++) {
		if (is_missing(&c->ranks[i]))
			continue;
		(void)strbuf_puts(out, between);
		put_rank(out, &c->ranks[i], i);
		between = ",\n";
	}
	(void)strbuf_puts(out, "\n      ],\n      \"missing_ranks\": [\n");
	for (i = 0, between = ""; i < c->n; i++) {
		if (!is_missing(&c->ranks[i]))
			continue;
		(void)strbuf_puts(out, between);
		put_missing(out, &c->ranks[i], i, comma);
		between = ",\n";
	}
	(void)strbuf_puts(out, "\n      ]\n    }");
}

char *ras_fixture_json(const char *version, bool comma, const struct ras_fixture_comm *comms,
		       size_t n)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
	size_t i;

	(void)strbuf_printf(&out,
			    "{\n  \"nccl_version\": \"%s\",\n  \"cuda_runtime_version\": 13000,\n"
			    "  \"cuda_driver_version\": 13000,\n"
			    "  \"timestamp\": \"2026-11-28 14:00:00\",\n"
			    "  \"communicators_count\": %zu,\n  \"communicators\": [\n",
			    version, n);
	for (i = 0; i < n; i++) {
		if (i > 0)
			(void)strbuf_puts(&out, ",\n");
		put_comm(&out, &comms[i], comma);
	}
	(void)strbuf_puts(&out, "\n  ],\n  \"ras\": {\n    \"collection_time_sec\": 0.001,\n"
				"    \"timeouts_count\": 0\n  }\n}\n");
	return xstrdup(strbuf_text(&out));
}

/* --- text --- */

static void put_who(struct strbuf *out, const struct ras_fixture_rank *r)
{
	(void)strbuf_printf(out, " -- GPU %u managed by process %u on node 10.0.0.%u\n",
			    r->rank % RAS_FIXTURE_HOST_RANKS, RAS_FIXTURE_PID + r->rank, host_of(r));
}

static void put_incomplete(struct strbuf *out, size_t group, const struct ras_fixture_comm *c)
{
	const size_t missing = count_missing(c);
	size_t i;

	if (!missing)
		return;
	(void)strbuf_printf(out,
			    "#%zu-0 (%016lx) INCOMPLETE\n"
			    "  Missing communicator data from %zu rank%s\n",
			    group, c->hash, missing, missing > 1 ? "s" : "");
	for (i = 0; i < c->n; i++) {
		if (!is_missing(&c->ranks[i]))
			continue;
		(void)strbuf_printf(out, "  Rank %zu", i);
		put_who(out, &c->ranks[i]);
	}
	(void)strbuf_puts(out, "\n");
}

/* Returns how many responding ranks have launched as many operations as rank `place`. */
static size_t count_like(const struct ras_fixture_comm *c, size_t f, size_t place)
{
	size_t i, n = 0;

	for (i = 0; i < c->n; i++)
		n += !is_missing(&c->ranks[i]) && c->ranks[i].counts[f] == c->ranks[place].counts[f];
	return n;
}

static bool is_first_like(const struct ras_fixture_comm *c, size_t f, size_t place)
{
	size_t i;

	for (i = 0; i < place; i++) {
		if (!is_missing(&c->ranks[i]) && c->ranks[i].counts[f] == c->ranks[place].counts[f])
			return false;
	}
	return !is_missing(&c->ranks[place]);
}

static void put_launched(struct strbuf *out, unsigned long count)
{
	if (count > 0)
		(void)strbuf_printf(out, "launched up to operation %lu", count);
	else
		(void)strbuf_puts(out, "not launched any operations");
}

static void put_class(struct strbuf *out, const struct ras_fixture_comm *c, size_t f, size_t place)
{
	const size_t n = count_like(c, f, place);
	size_t i;

	if (n > 1) {
		(void)strbuf_printf(out, "  %zu ranks have ", n);
		put_launched(out, c->ranks[place].counts[f]);
		(void)strbuf_puts(out, "\n");
	}
	if (n != 1 && 2 * n >= c->n)
		return;
	for (i = place; i < c->n; i++) {
		if (is_missing(&c->ranks[i]) || c->ranks[i].counts[f] != c->ranks[place].counts[f])
			continue;
		(void)strbuf_printf(out, "  Rank %zu", i);
		if (n == 1) {
			(void)strbuf_puts(out, " has ");
			put_launched(out, c->ranks[i].counts[f]);
		}
		put_who(out, &c->ranks[i]);
	}
}

static void put_mismatch(struct strbuf *out, size_t group, const struct ras_fixture_comm *c)
{
	bool headed = false;
	size_t f, i;

	for (f = 0; f < RAS_FIXTURE_FUNCTIONS; f++) {
		size_t first = 0;

		while (first < c->n && is_missing(&c->ranks[first]))
			first++;
		if (first == c->n || count_like(c, f, first) + count_missing(c) == c->n)
			continue;
		if (!headed)
			(void)strbuf_printf(out, "#%zu-0 (%016lx) MISMATCH\n", group, c->hash);
		headed = true;
		(void)strbuf_printf(out, "  Communicator ranks have different %s operation counts\n",
				    functions[f]);
		for (i = 0; i < c->n; i++) {
			if (is_first_like(c, f, i))
				put_class(out, c, f, i);
		}
		(void)strbuf_puts(out, "\n");
	}
}

char *ras_fixture_text(const char *version, const struct ras_fixture_comm *comms, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(TEXT_MAX);
	size_t i;

	(void)strbuf_printf(&out,
			    "NCCL version %s compiled with CUDA 12.8\nCUDA runtime version 12080, "
			    "driver version 12080\n\nJob summary\n===========\n\n"
			    "  Nodes  Processes         GPUs  Processes     GPUs\n"
			    "(total)   per node  per process    (total)  (total)\n"
			    "      2          4            1          8        8\n\n"
			    "Communicators... (0.00s)\n=============\n\n"
			    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  "
			    "Errors\n"
			    "    #  in group  per comm  per node  per comm  in group\n",
			    version);
	for (i = 0; i < n; i++)
		(void)strbuf_printf(&out, "%5zu  %8d  %8d  %8s  %8zu  %8zu  %8s  %6s\n", i, 1, 2,
				    "3-4", comms[i].n, comms[i].n, "RUNNING", "OK");
	(void)strbuf_puts(&out, "\nErrors\n======\n\n");
	for (i = 0; i < n; i++)
		put_incomplete(&out, i, &comms[i]);
	(void)strbuf_puts(&out, "Warnings\n========\n\n");
	for (i = 0; i < n; i++)
		put_mismatch(&out, i, &comms[i]);
	return xstrdup(strbuf_text(&out));
}
