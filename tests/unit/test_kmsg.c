/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/kmsg.h"
#include "tests/unit/test.h"

/* A log that answers reads as a script says. */
struct step {
	const char *bytes; /* NULL: fail with `error` */
	int error;
};

struct script {
	const struct step *steps;
	size_t n, at;
	size_t given; /* bytes of the step at `at` */
};

static ssize_t play(void *context, void *bytes, size_t n)
{
	struct script *script = context;
	const struct step *step;
	size_t len;

	if (script->at == script->n)
		return 0;
	step = &script->steps[script->at];
	if (!step->bytes) {
		script->at++;
		errno = step->error;
		return -1;
	}
	len = MIN(strlen(step->bytes) - script->given, n);
	memcpy(bytes, step->bytes + script->given, len);
	script->given += len;
	if (!step->bytes[script->given]) {
		script->at++;
		script->given = 0;
	}
	return (ssize_t)len;
}

static struct kmsg *reader(struct script *script)
{
	struct kmsg *k = xcalloc(1, sizeof(*k));

	k->read = play;
	k->context = script;
	return k;
}

static void a_record_is_taken_apart(void)
{
	static const struct {
		const char *line;
		bool ok;
		unsigned facility, level;
		uint64_t sequence, time_us;
		const char *text;
	} cases[] = {
		{ "6,339,5140900,-;NET: Registered", true, 0, 6, 339, 5140900, "NET: Registered" },
		{ "30,7,1,-,caller=T1;a;b", true, 3, 6, 7, 1, "a;b" },
		{ "4,0,0,c;", true, 0, 4, 0, 0, "" },
		{ "4,18446744073709551615,0,-;x", true, 0, 4, UINT64_MAX, 0, "x" },
		{ "4,18446744073709551616,0,-;x", false, 0, 0, 0, 0, NULL },
		{ " SUBSYSTEM=pci", false, 0, 0, 0, 0, NULL },
		{ "", false, 0, 0, 0, 0, NULL },
		{ "no record; at all", false, 0, 0, 0, 0, NULL },
		{ "4,1;2,3,-;x", false, 0, 0, 0, 0, NULL },
		{ "-4,1,2,-;x", false, 0, 0, 0, 0, NULL },
		{ "4, 1,2,-;x", false, 0, 0, 0, 0, NULL },
		{ "999999,1,2,-;x", false, 0, 0, 0, 0, NULL },
		{ "4,1,2,-no semicolon", false, 0, 0, 0, 0, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *line = xstrdup(cases[i].line);
		struct kmsg_record r = { 0 };

		CHECK_EQ(kmsg_parse(line, &r), cases[i].ok);
		if (!cases[i].ok)
			continue;
		CHECK_EQ(r.facility, cases[i].facility);
		CHECK_EQ(r.level, cases[i].level);
		CHECK_EQ(r.sequence, cases[i].sequence);
		CHECK_EQ(r.time_us, cases[i].time_us);
		CHECK_STR(r.text, cases[i].text);
	}
}

static void what_is_not_printable_is_replaced(void)
{
	char line[] = "6,1,2,-;a\x01\xff\tb";
	struct kmsg_record r;

	CHECK(kmsg_parse(line, &r));
	CHECK_STR(r.text, "a???b");
}

static void records_come_one_by_one_however_they_are_read(void)
{
	static const struct step steps[] = {
		{ "6,1,0,-;one\n KEY=value\n6,2,0", 0 },
		{ ",-;two\n", 0 },
		{ "6,3,0,-;three", 0 },
		{ "\n", 0 },
		{ "6,4,0,-;no newline", 0 },
	};
	struct script script = { steps, ARRAY_SIZE(steps), 0, 0 };
	CLEANUP(freep) struct kmsg *k = reader(&script);
	static const char *const want[] = { "one", "two", "three", "no newline" };
	struct kmsg_record r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		CHECK_EQ(kmsg_next(k, &r), 1);
		CHECK_STR(r.text, want[i]);
		CHECK_EQ(r.sequence, i + 1);
	}
	CHECK_EQ(kmsg_next(k, &r), 0);
	CHECK_EQ(kmsg_next(k, &r), 0);
}

static void an_overrun_is_counted_and_reading_goes_on(void)
{
	static const struct step steps[] = {
		{ "6,1,0,-;one\n", 0 }, { NULL, EPIPE }, { "6,9,0,-;nine\n", 0 },
		{ NULL, EINTR },	{ NULL, EPIPE }, { "6,12,0,-;twelve\n", 0 },
		{ NULL, EAGAIN },
	};
	struct script script = { steps, ARRAY_SIZE(steps), 0, 0 };
	CLEANUP(freep) struct kmsg *k = reader(&script);
	struct kmsg_record r;

	CHECK_EQ(kmsg_next(k, &r), 1);
	CHECK_EQ(kmsg_next(k, &r), 1);
	CHECK_EQ(r.sequence, 9);
	CHECK_EQ(kmsg_next(k, &r), 1);
	CHECK_EQ(r.sequence, 12);
	CHECK_EQ(kmsg_next(k, &r), 0);
	CHECK_EQ(k->overruns, 2);
}

static void a_log_that_runs_faster_than_we_read_ends(void)
{
	struct step steps[200];
	struct script script = { steps, ARRAY_SIZE(steps), 0, 0 };
	CLEANUP(freep) struct kmsg *k = reader(&script);
	struct kmsg_record r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		steps[i] = (struct step){ NULL, EPIPE };
	CHECK_EQ(kmsg_next(k, &r), 0);
	CHECK(script.at < ARRAY_SIZE(steps));
}

static void an_error_is_handed_on(void)
{
	static const struct step steps[] = { { "6,1,0,-;one\n", 0 }, { NULL, EPERM } };
	struct script script = { steps, ARRAY_SIZE(steps), 0, 0 };
	CLEANUP(freep) struct kmsg *k = reader(&script);
	struct kmsg_record r;

	CHECK_EQ(kmsg_next(k, &r), 1);
	CHECK_EQ(kmsg_next(k, &r), -EPERM);
}

/* A record of `len` bytes of text, then a short one. */
static void check_long(size_t len, size_t want)
{
	CLEANUP(freep) char *text = xcalloc(len + 1, 1);
	CLEANUP(freep) char *all = NULL;
	CLEANUP(freep) struct step *steps = NULL;
	struct script script = { 0 };
	CLEANUP(freep) struct kmsg *k = NULL;
	struct kmsg_record r;
	size_t n, i;

	memset(text, 'x', len);
	all = xasprintf("6,1,0,-;%s\n6,2,0,-;short\n", text);
	n = strlen(all);
	/* In pieces that never fit the buffer as a whole. */
	steps = xcalloc(n / 100 + 1, sizeof(*steps));
	for (i = 0; i * 100 < n; i++)
		steps[i].bytes = xstrndup(all + i * 100, 100);
	script = (struct script){ steps, i, 0, 0 };
	k = reader(&script);
	CHECK_EQ(kmsg_next(k, &r), 1);
	CHECK_EQ(strlen(r.text), want);
	CHECK_EQ(kmsg_next(k, &r), 1);
	CHECK_STR(r.text, "short");
	CHECK_EQ(kmsg_next(k, &r), 0);
	while (i--)
		free((void *)(uintptr_t)steps[i].bytes);
}

static void a_record_that_is_too_long_is_cut_and_the_next_one_is_whole(void)
{
	const size_t head = strlen("6,1,0,-;");

	check_long(8192, 8192);
	check_long(KMSG_RECORD_MAX - head - 1, KMSG_RECORD_MAX - head - 1);
	check_long(KMSG_RECORD_MAX - head, KMSG_RECORD_MAX - head);
	check_long(KMSG_RECORD_MAX - head + 1, KMSG_RECORD_MAX - head);
	check_long(3 * KMSG_RECORD_MAX, KMSG_RECORD_MAX - head);
	check_long(100000, KMSG_RECORD_MAX - head);
}

static ssize_t endless(void *context, void *bytes, size_t n)
{
	uint64_t *n_bytes = context;

	memset(bytes, 0, n);
	*n_bytes += n;
	return (ssize_t)n;
}

static void a_log_without_end_ends(void)
{
	uint64_t n_bytes = 0;
	CLEANUP(freep) struct kmsg *k = xcalloc(1, sizeof(*k));
	struct kmsg_record r;

	k->read = endless;
	k->context = &n_bytes;
	CHECK_EQ(kmsg_next(k, &r), 0);
	CHECK(n_bytes < UINT64_C(1) << 30);
}

static const struct test tests[] = {
	TEST(a_record_is_taken_apart),
	TEST(what_is_not_printable_is_replaced),
	TEST(records_come_one_by_one_however_they_are_read),
	TEST(an_overrun_is_counted_and_reading_goes_on),
	TEST(a_log_that_runs_faster_than_we_read_ends),
	TEST(an_error_is_handed_on),
	TEST(a_record_that_is_too_long_is_cut_and_the_next_one_is_whole),
	TEST(a_log_without_end_ends),
};

TEST_SUITE(tests);
