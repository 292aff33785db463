/* SPDX-License-Identifier: Apache-2.0 */
/* The body of POST /v1/reports: read by both readers, judged, written again. */
#include <errno.h>
#include <stdlib.h>

#include "controller/ingest/ingest.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/jmemo.h"
#include "lib/judge/verdict.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/node_name.h"
#include "lib/report/report.h"
#include "tests/fuzz/fuzz.h"

/* Kept across inputs, to find state that leaks from one text to the next. */
static struct jmemo memo;

/* The stored body equals the sent one. */
static void check_body(const struct ingest *in, const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_MAX);
	struct err err = ERR_INIT;

	FUZZ_CHECK(pack_open(&in->body, &text, &err) == 0);
	FUZZ_CHECK(text.len == size && memcmp(text.data, data, size) == 0);
}

/* Reads it with jansson and the decoder. */
static int read_carefully(const char *text, size_t size, struct report *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	if (json_parse(text, size, "report", &value, err) < 0)
		return -EBADMSG;
	root = jval_root(value, "report");
	return report_decode(&root, ret, err);
}

/* The fast reader accepts the same texts, with the same result. */
static void check_readers(const char *text, size_t size)
{
	CLEANUP(report_release) struct report quick = { 0 };
	CLEANUP(report_release) struct report careful = { 0 };
	CLEANUP(json_freep) json_t *first = NULL;
	CLEANUP(json_freep) json_t *second = NULL;
	struct err err = ERR_INIT;
	int r = report_read(text, size, &memo, &quick, &err);

	FUZZ_CHECK(r == read_carefully(text, size, &careful, &err));
	if (r < 0)
		return;
	first = report_encode(&quick);
	second = report_encode(&careful);
	FUZZ_CHECK(json_equal(first, second));
}

/* Part names: adding the same ones again changes nothing. */
static void check_parts(const struct report *report)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	size_t i;

	(void)host_parts_learn(&parts, report);
	FUZZ_CHECK(!host_parts_learn(&parts, report));
	FUZZ_CHECK(parts.n <= HOST_PARTS_MAX);
	for (i = 0; i < parts.n; i++) {
		CLEANUP(freep) char *line = host_part_line(&parts.all[i]);
		CLEANUP(freep) char *words = host_parts_words(&parts, parts.all[i].id);
		const char *at;

		FUZZ_CHECK(*words);
		for (at = line; *at; at++)
			FUZZ_CHECK(*at >= ' ' && *at <= '~');
	}
}

/* An accepted report is the same after writing and reading it. */
static void check_report(const struct report *report)
{
	CLEANUP(json_freep) json_t *value = report_encode(report);
	CLEANUP(json_freep) json_t *again = NULL;
	CLEANUP(freep) char *first = fuzz_json(value);
	CLEANUP(freep) char *second = NULL;
	CLEANUP(report_release) struct report copy = { 0 };
	struct jval root = jval_root(value, "again");
	struct err err = ERR_INIT;

	FUZZ_CHECK(report_decode(&root, &copy, &err) == 0);
	again = report_encode(&copy);
	second = fuzz_json(again);
	FUZZ_CHECK(streq(first, second));
}

/* Any report can be judged, and its verdict written. */
static void check_verdict(const struct report *report)
{
	CLEANUP(verdict_release) struct verdict verdict = { 0 };
	CLEANUP(verdict_release) struct verdict copy = { 0 };
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;
	struct jval root;

	verdict_judge(report, NULL, &verdict);
	FUZZ_CHECK(verdict.sentence && !strpbrk(verdict.sentence, "\n"));
	value = verdict_encode(&verdict);
	root = jval_root(value, "verdict");
	FUZZ_CHECK(verdict_decode(&root, &copy, &err) == 0);
	FUZZ_CHECK(copy.n_items == verdict.n_items && copy.level == verdict.level);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) void *bytes = fuzz_bytes(data, size);
	CLEANUP(ingest_release) struct ingest in = { 0 };
	struct packed sent = { PACK_PLAIN, bytes, size };
	struct err err = ERR_INIT;
	int r = ingest_decode(&sent, &memo, &in, &err);

	check_readers(bytes, size);
	if (r < 0) {
		fuzz_refused(r, &err);
		FUZZ_CHECK(r == -EBADMSG || r == -EINVAL);
		return 0;
	}
	FUZZ_CHECK(node_name_ok(in.report.node));
	check_body(&in, data, size);
	check_report(&in.report);
	check_verdict(&in.report);
	check_parts(&in.report);
	return 0;
}
