/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agents/run/history.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

static void fresh_state(const char *name)
{
	CLEANUP(freep) char *dir = xasprintf("%s/%s", test_dir(), name);

	(void)mkdir(dir, 0755);
	(void)setenv("ASSAY_STATE_DIR", dir, 1);
}

static char check[] = "memory.copy_bw", subject[] = "numa:0>numa:0", unit[] = "B/s";

static const char *learned_by; /* the machine, or NULL */

/* Learn one value that was judged at `level`; 0 or a negative errno. */
static int learn(struct history *h, double value, int level)
{
	struct sample sample = sample_init();
	struct report report = { .samples = &sample, .n_samples = 1, .seq = 1 };
	struct verdict_item item = { .check = check, .subject = subject, .level = level };
	CLEANUP(freep) char *machine = xstrdup(learned_by);
	struct verdict verdict = {
		.items = &item, .n_items = 1, .level = level, .machine = machine
	};

	sample.check = check;
	sample.subject = subject;
	sample.unit = unit;
	sample.better = BETTER_HIGHER;
	sample.value = value;
	return history_learn(h, &report, &verdict, NULL);
}

static size_t recall(double values[static HISTORY_VALUES], size_t max)
{
	CLEANUP(freep) char *key = NULL;
	struct history *h = NULL;
	struct sample sample = sample_init();
	size_t n;

	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	key = params_key(&sample);
	n = history_values(h, check, subject, key, values, max);
	history_close(h);
	return n;
}

static size_t recall_on(const char *machine)
{
	CLEANUP(freep) char *key = NULL;
	struct history *h = NULL;
	struct sample sample = sample_init();
	double values[HISTORY_VALUES];
	size_t n;

	CHECK_EQ(history_open(machine, &h, NULL), 0);
	key = params_key(&sample);
	n = history_values(h, check, subject, key, values, HISTORY_VALUES);
	history_close(h);
	return n;
}

/* A disk that was moved, or restored, into other hardware. */
static void values_of_another_machine_are_no_history(void)
{
	struct history *h = NULL;

	fresh_state("moved");
	learned_by = "b:1";
	CHECK_EQ(history_open("b:1", &h, NULL), 0);
	CHECK_EQ(learn(h, 1, VERDICT_PASS), 0);
	CHECK_EQ(learn(h, 2, VERDICT_PASS), 0);
	history_close(h);
	CHECK_EQ(recall_on("b:1"), 2);
	CHECK_EQ(recall_on("b:2"), 0);
	CHECK_EQ(recall_on("m:7"), 2); /* a run that is not root's cannot tell */
	CHECK_EQ(recall_on(NULL), 2);
	learned_by = NULL;
}

static void values_come_back_newest_last_and_bounded(void)
{
	double values[HISTORY_VALUES] = { 0 };
	struct history *h = NULL;
	int i;

	fresh_state("order");
	CHECK_EQ(recall(values, HISTORY_VALUES), 0);
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	for (i = 1; i <= 50; i++)
		CHECK_EQ(learn(h, i, VERDICT_PASS), 0);
	history_close(h);
	CHECK_EQ(recall(values, HISTORY_VALUES), HISTORY_VALUES);
	CHECK_NEAR(values[0], 31, 1e-9);
	CHECK_NEAR(values[HISTORY_VALUES - 1], 50, 1e-9);
	CHECK_EQ(recall(values, 3), 3);
	CHECK_NEAR(values[0], 48, 1e-9);
}

static void what_was_not_passed_teaches_nothing(void)
{
	double values[HISTORY_VALUES];
	struct history *h = NULL;

	fresh_state("bad");
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	CHECK_EQ(learn(h, 1, VERDICT_FAIL), 0);
	CHECK_EQ(learn(h, 2, VERDICT_WARN), 0);
	CHECK_EQ(learn(h, 3, VERDICT_INCONCLUSIVE), 0);
	CHECK_EQ(learn(h, 4, VERDICT_PASS), 0);
	history_close(h);
	CHECK_EQ(recall(values, HISTORY_VALUES), 1);
	CHECK_NEAR(values[0], 4, 1e-9);
}

/* A line is one run: five values of one run are not the five runs that a history begins with. */
static void what_one_run_measured_twice_is_one_value(void)
{
	struct sample samples[5];
	struct report report = { .samples = samples, .n_samples = 5, .seq = 1 };
	struct verdict_item item = { .check = check, .subject = subject };
	struct verdict verdict = { .items = &item, .n_items = 1 };
	double values[HISTORY_VALUES];
	struct history *h = NULL;
	size_t i;

	for (i = 0; i < 5; i++) {
		samples[i] = sample_init();
		samples[i].check = check;
		samples[i].subject = subject;
		samples[i].unit = unit;
		samples[i].better = BETTER_HIGHER;
		samples[i].value = (double)(i * i); /* 0 1 4 9 16 */
	}
	fresh_state("twice");
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	CHECK_EQ(history_learn(h, &report, &verdict, NULL), 0);
	history_close(h);
	CHECK_EQ(recall(values, HISTORY_VALUES), 1);
	CHECK_NEAR(values[0], 4, 1e-9);
}

static void a_torn_last_line_costs_itself_only(void)
{
	CLEANUP(freep) char *path = NULL;
	double values[HISTORY_VALUES];
	struct history *h = NULL;
	FILE *file;

	fresh_state("torn");
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	CHECK_EQ(learn(h, 1, VERDICT_PASS), 0);
	path = xasprintf("%s/torn/history.jsonl", test_dir());
	file = fopen(path, "a");
	CHECK(file != NULL);
	if (file) {
		(void)fputs("{\"time\":\"2026-11-21T00:00:00Z\",\"valu", file);
		(void)fclose(file);
	}
	CHECK_EQ(recall(values, HISTORY_VALUES), 1);
	CHECK_EQ(learn(h, 2, VERDICT_PASS), 0);
	history_close(h);
	CHECK_EQ(recall(values, HISTORY_VALUES), 2);
	CHECK_NEAR(values[1], 2, 1e-9);
}

static void the_file_stays_within_its_limit(void)
{
	CLEANUP(freep) char *path = NULL;
	double values[HISTORY_VALUES];
	struct history *h = NULL;
	struct stat st = { 0 };
	FILE *file;
	int i;

	fresh_state("limit");
	path = xasprintf("%s/limit/history.jsonl", test_dir());
	file = fopen(path, "w");
	CHECK(file != NULL);
	for (i = 0; file && i < HISTORY_BYTES_MAX / 64; i++)
		(void)fprintf(file, "{\"values\":[],\"pad\":\"%043d\"}\n", i);
	if (file)
		(void)fclose(file);
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	for (i = 0; i < 40; i++)
		CHECK_EQ(learn(h, i, VERDICT_PASS), 0);
	history_close(h);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(st.st_size < HISTORY_BYTES_MAX);
	CHECK(st.st_size > HISTORY_BYTES_MAX / 4);
	CHECK_EQ(recall(values, HISTORY_VALUES), HISTORY_VALUES);
	CHECK_NEAR(values[HISTORY_VALUES - 1], 39, 1e-9);
}

static void series_of_other_params_do_not_mix(void)
{
	double values[HISTORY_VALUES];
	struct history *h = NULL;

	fresh_state("params");
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	CHECK_EQ(learn(h, 1, VERDICT_PASS), 0);
	history_close(h);
	CHECK_EQ(history_open(NULL, &h, NULL), 0);
	CHECK_EQ(history_values(h, check, subject, "{\"size\":1}", values, HISTORY_VALUES), 0);
	history_close(h);
}

static const struct test tests[] = {
	TEST(values_of_another_machine_are_no_history),
	TEST(values_come_back_newest_last_and_bounded),
	TEST(what_was_not_passed_teaches_nothing),
	TEST(what_one_run_measured_twice_is_one_value),
	TEST(a_torn_last_line_costs_itself_only),
	TEST(the_file_stays_within_its_limit),
	TEST(series_of_other_params_do_not_mix),
};

TEST_SUITE(tests);
