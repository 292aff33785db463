/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the state directory, which may be truncated or foreign. The first
 * byte chooses verdict.json, the last run or history.jsonl; then the contents.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/run/history.h"
#include "agents/run/verdict_file.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "lib/sys/file.h"
#include "tests/fuzz/fuzz.h"

static char *text_of(const struct verdict *v)
{
	CLEANUP(json_freep) json_t *value = verdict_encode(v);

	return fuzz_json(value);
}

/* The verdict is the same after writing and reading it. */
static void read_verdict(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 };
	CLEANUP(verdict_release) struct verdict copy = { 0 };
	CLEANUP(freep) char *first = NULL;
	CLEANUP(freep) char *second = NULL;
	struct err err = ERR_INIT;
	int r = verdict_file_read(&v, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
		return;
	}
	FUZZ_CHECK(v.level >= VERDICT_PASS && v.level <= VERDICT_FAIL);
	first = text_of(&v);
	fuzz_write("verdict.json", (const uint8_t *)first, strlen(first));
	FUZZ_CHECK(verdict_file_read(&copy, &err) == 0);
	second = text_of(&copy);
	FUZZ_CHECK(streq(first, second));
}

/* A new run is saved whatever the previous one left. */
static void replace_last(void)
{
	static char node[] = "n1", boot[] = "b1", when[] = "2026-11-21T00:00:00.000Z",
		    quick[] = "quick", fine[] = "all is well";
	const struct report report = {
		.node = node, .boot_id = boot, .seq = 7, .time = when, .profile = quick
	};
	const struct verdict verdict = {
		.node = node, .time = when, .seq = 7, .profile = quick, .sentence = fine
	};
	CLEANUP(verdict_release) struct verdict last = { 0 };
	CLEANUP(verdict_release) struct verdict merged = { 0 };
	struct err err = ERR_INIT;

	(void)verdict_file_last(quick, NULL, &last);
	FUZZ_CHECK(verdict_file_keep(&report, &verdict, true, &err) == 0);
	FUZZ_CHECK(verdict_file_read(&merged, &err) == 0);
	FUZZ_CHECK(streq(merged.node, node));
}

static void read_history(void)
{
	double values[HISTORY_VALUES];
	struct history *history = NULL;
	struct err err = ERR_INIT;
	size_t n, i;

	FUZZ_CHECK(history_open(NULL, &history, &err) == 0);
	n = history_values(history, "memory.copy_bw", "numa:0", "{}", values, HISTORY_VALUES);
	FUZZ_CHECK(n <= HISTORY_VALUES);
	for (i = 0; i < n; i++)
		FUZZ_CHECK(isfinite(values[i]));
	history_close(history);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		const char *name;
		void (*read)(void);
	} rows[] = {
		{ "verdict.json", read_verdict },
		{ "last/quick.json", replace_last },
		{ "history.jsonl", read_history },
	};
	CLEANUP(freep) char *last = xasprintf("%s/last", fuzz_dir());
	size_t row = size ? data[0] % ARRAY_SIZE(rows) : 0;

	(void)setenv("ASSAY_STATE_DIR", fuzz_dir(), 1);
	(void)mkdir(last, 0700);
	fuzz_write(rows[row].name, size ? data + 1 : data, size ? size - 1 : 0);
	rows[row].read();
	return 0;
}
