/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/suspicion.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/policy/blame.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define T0 (1000 * USEC_PER_DAY)

/* One suspect as text: hosts with blanks between them. */
struct says {
	unsigned minute, minutes; /* since T0 */
	const char *who[SUSPICION_SUSPECTS_MAX];
	int class;
	bool coarse;
	unsigned steps;
	bool not_identifiable, does_not_count;
};

enum { HOSTS = 8, TEXT = 64 };

/* Adds the window; its id is its minute, so two of one minute differ by their place in `shift`. */
static int add(struct suspicion *s, const struct says *says, unsigned shift, struct err *err)
{
	char text[SUSPICION_SUSPECTS_MAX][TEXT];
	const char *hosts[SUSPICION_SUSPECTS_MAX][HOSTS];
	struct suspicion_suspect suspects[SUSPICION_SUSPECTS_MAX];
	struct suspicion_window w = { .id = says->minute,
				      .from_us = T0 + says->minute * USEC_PER_MIN,
				      .until_us = T0 + (says->minute + says->minutes) * USEC_PER_MIN,
				      .steps = says->steps ? says->steps : 64,
				      .coarse = says->coarse,
				      .suspects = suspects };
	size_t i;

	for (i = 0; i < SUSPICION_SUSPECTS_MAX; i++) {
		/* In another order with each shift. */
		const char *who = says->who[(i + shift) % SUSPICION_SUSPECTS_MAX];
		struct suspicion_suspect *one = &suspects[w.n_suspects];
		char *save = NULL, *word;

		if (!who)
			continue;
		*one = (struct suspicion_suspect){ .hosts = hosts[w.n_suspects],
						   .class =
							   says->class ? says->class : BLAME_COMPUTE,
						   .counts = !says->does_not_count,
						   .identifiable = !says->not_identifiable,
						   .share = 0.8 };
		(void)snprintf(text[w.n_suspects], TEXT, "%s", who);
		for (word = strtok_r(text[w.n_suspects], " ", &save); word;
		     word = strtok_r(NULL, " ", &save))
			hosts[w.n_suspects][one->n_hosts++] = word;
		w.n_suspects++;
	}
	return suspicion_add(s, &w, err);
}

/* What is found as text: "a b:2/3 c:1/3", those that are reached with a '!', coarse with a '~'. */
static void found_at(const struct suspicion *s, unsigned minute, char ret[static 256])
{
	const struct policy_jobs jobs = policy_jobs_init();
	struct suspicion_list list;
	size_t i, j, at = 0;

	suspicion_read(s, &jobs, NULL, T0 + minute * USEC_PER_MIN, &list);
	ret[0] = '\0';
	for (i = 0; i < list.n; i++) {
		const struct suspicion_found *f = &list.items[i];

		for (j = 0; j < f->n_hosts; j++)
			at += (size_t)snprintf(ret + at, 256 - at, "%s%s", i || j ? " " : "",
					       f->hosts[j]);
		at += (size_t)snprintf(ret + at, 256 - at, ":%u/%u%s%s%s", f->hits, f->of,
				       f->counts == BLAME_K_OF_N ? "!" : "", f->coarse ? "~" : "",
				       f->identifiable ? "" : "?");
		CHECK_EQ(windows_bad(&f->windows, WINDOWS_MAX), f->hits);
		/* A window's id is its minute. */
		for (j = 1; j < f->hits; j++)
			CHECK(f->ids[j] < f->ids[j - 1]);
		CHECK_EQ(T0 + (uint64_t)f->ids[f->hits - 1] * USEC_PER_MIN, f->from_us);
		CHECK(f->from_us < f->until_us);
	}
}

static const struct {
	const char *what;
	struct says windows[5];
	unsigned now;
	const char *found;
} counted[] = {
	{ "one window", { { 0, 4, { "a" } } }, 4, "a:1/1" },
	{ "two", { { 0, 4, { "a" } }, { 5, 4, { "a" } } }, 9, "a:2/2!" },
	{ "two of three",
	  { { 0, 4, { "a" } }, { 5, 4, { NULL } }, { 10, 4, { "a" } } },
	  14,
	  "a:2/3!" },
	{ "two of the last three",
	  { { 0, 4, { "a" } }, { 5, 4, { NULL } }, { 10, 4, { NULL } }, { 15, 4, { "a" } } },
	  19,
	  "a:1/3" },
	{ "not the same host", { { 0, 4, { "a" } }, { 5, 4, { "b" } } }, 9, "a:1/2 b:1/2" },
	{ "not the same set", { { 0, 4, { "a b" } }, { 5, 4, { "a" } } }, 9, "a:1/2 a b:1/2" },
	{ "a set in another order", { { 0, 4, { "a b" } }, { 5, 4, { "b a" } } }, 9, "a b:2/2!" },
	{ "not the same class",
	  { { 0, 4, { "a" }, BLAME_LINK }, { 5, 4, { "a" }, BLAME_COMPUTE } },
	  9,
	  "a:1/2 a:1/2" },
	{ "two beside each other", { { 0, 4, { "a", "b" } }, { 5, 4, { "b" } } }, 9, "b:2/2! a:1/2" },
	{ "they begin too close", { { 0, 4, { "a" } }, { 4, 4, { "a" } } }, 9, "a:1/1" },
	{ "they overlap", { { 0, 6, { "a" } }, { 5, 6, { "a" } } }, 11, "a:1/1" },
	{ "one between two does not count",
	  { { 0, 4, { "a" } }, { 3, 4, { NULL } }, { 7, 4, { "a" } } },
	  11,
	  "a:2/2!" },
	{ "too few steps", { { 0, 4, { "a" } }, { 5, 4, { "a" }, 0, false, 9 } }, 9, "a:1/1" },
	{ "just enough steps", { { 0, 4, { "a" } }, { 5, 4, { "a" }, 0, false, 10 } }, 9, "a:2/2!" },
	{ "it does not count in itself",
	  { { 0, 4, { "a" } }, { 5, 4, { "a" }, .does_not_count = true } },
	  9,
	  "a:1/2" },
	{ "still fresh", { { 0, 4, { "a" } }, { 5, 5, { "a" } } }, 40, "a:2/2!" },
	{ "not fresh any more", { { 0, 4, { "a" } }, { 5, 5, { "a" } } }, 41, "" },
	{ "coarse with one that is not",
	  { { 0, 4, { "a" }, 0, true }, { 5, 4, { "a" } } },
	  9,
	  "a:2/2!~" },
	{ "coarse beside two that are not",
	  { { 0, 4, { "a" } }, { 5, 4, { "a" } }, { 10, 4, { "a" }, 0, true } },
	  14,
	  "a:3/3!" },
	{ "not identifiable once",
	  { { 0, 4, { "a" }, .not_identifiable = true }, { 5, 4, { "a" } } },
	  9,
	  "a:2/2!?" },
};

static void k_of_n_windows_make_a_suspect(void)
{
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		struct suspicion s = { 0 };
		struct err err = ERR_INIT;
		char found[256];

		for (k = 0; k < ARRAY_SIZE(counted[i].windows) && counted[i].windows[k].minutes; k++)
			CHECK_EQ(add(&s, &counted[i].windows[k], 0, &err), 0);
		found_at(&s, counted[i].now, found);
		CHECK_STR(found, counted[i].found);
		suspicion_release(&s);
	}
}

/* As many as a run may have and more, of any length, some at one time. */
static void any_order_gives_the_same(void)
{
	static const char *const sets[] = { "a", "b", "c d", "d c", "a b c", NULL, NULL, NULL };
	struct random random = random_seeded(7);
	const size_t rounds = test_times(1000, 1000);
	size_t round, n_found = 0;

	for (round = 0; round < rounds; round++) {
		struct says windows[SUSPICION_WINDOWS_MAX + 20];
		const size_t n = 1 + random_below(&random, ARRAY_SIZE(windows));
		unsigned now = 0;
		struct suspicion a = { 0 }, b = { 0 };
		char one[256], two[256];
		size_t i;

		for (i = 0; i < n; i++) {
			windows[i] =
				(struct says){ .minute =
						       (unsigned)(4 * i + random_below(&random, 4)),
					       .minutes = 1 + (unsigned)random_below(&random, 9),
					       .coarse = random_below(&random, 4) == 0 };
			windows[i].who[0] = sets[random_below(&random, ARRAY_SIZE(sets))];
			windows[i].who[1] = random_below(&random, 4) ? NULL : "e";
			now = MAX(now, windows[i].minute + windows[i].minutes);
			CHECK_EQ(add(&a, &windows[i], 0, NULL), 0);
		}
		for (i = n; i > 1; i--) {
			const size_t other = random_below(&random, i);
			const struct says kept = windows[i - 1];

			windows[i - 1] = windows[other];
			windows[other] = kept;
		}
		for (i = 0; i < n; i++)
			CHECK_EQ(add(&b, &windows[i], (unsigned)random_below(&random, 3), NULL), 0);
		CHECK(a.n <= SUSPICION_WINDOWS_MAX);
		found_at(&a, now, one);
		found_at(&b, now, two);
		CHECK_STR(one, two);
		n_found += strchr(one, '!') != NULL;
		suspicion_release(&a);
		suspicion_release(&b);
	}
	CHECK(n_found > rounds / 10); /* they are not all alike */
	CHECK(n_found < rounds);
}

static void a_window_is_taken_once(void)
{
	static const struct says window = { 0, 4, { "a" } };
	struct suspicion s = { 0 };
	struct err err = ERR_INIT;
	char found[256];

	CHECK_EQ(add(&s, &window, 0, &err), 0);
	CHECK_EQ(add(&s, &window, 0, &err), -EEXIST);
	CHECK_STR(err.msg, "window 0 is already there");
	found_at(&s, 4, found);
	CHECK_STR(found, "a:1/1");
	suspicion_release(&s);
}

static void only_the_newest_are_kept(void)
{
	struct suspicion s = { 0 };
	unsigned i;

	for (i = 0; i < 10 * SUSPICION_WINDOWS_MAX; i++) {
		const struct says window = { i, 1, { "a" } };

		CHECK_EQ(add(&s, &window, 0, NULL), 0);
	}
	CHECK_EQ(s.n, SUSPICION_WINDOWS_MAX);
	/* One that is older than all of them is taken and is gone at once. */
	CHECK_EQ(add(&s, &(struct says){ 1, 1, { "a" } }, 0, NULL), 0);
	CHECK_EQ(s.n, SUSPICION_WINDOWS_MAX);
	suspicion_release(&s);
}

static void what_is_no_window_is_refused(void)
{
	static char long_name[SUSPICION_NAME_MAX + 2];
	static const char *many[SUSPICION_HOSTS_MAX + 1];
	static const char *const one[] = { "a" }, *const twice[] = { "a", "b", "a" };
	static const char *const empty[] = { "" }, *const absent[] = { NULL },
				 *const too_long[] = { long_name };
	const struct {
		const char *const *hosts;
		size_t n_hosts;
		int class;
		double share;
		size_t n_suspects;
		uint64_t until_us;
		const char *message;
	} rows[] = {
		{ one, 1, BLAME_COMPUTE, 0.5, 1, T0, "window 3 ends before it begins" },
		{ one, 1, BLAME_COMPUTE, 0.5, 4, T0 + 1, "window 3: 4 suspects, more than 3" },
		{ one, 0, BLAME_COMPUTE, 0.5, 1, T0 + 1, "a suspect of 0 hosts: expected 1 to 64" },
		{ many, 65, BLAME_COMPUTE, 0.5, 1, T0 + 1, "suspect of 65 hosts: expected 1 to 64" },
		{ one, 1, BLAME_JOB, 0.5, 1, T0 + 1, "a class that accuses no host" },
		{ one, 1, BLAME_UNCLEAR, 0.5, 1, T0 + 1, "a class that accuses no host" },
		{ one, 1, -1, 0.5, 1, T0 + 1, "a class that accuses no host" },
		{ one, 1, BLAME_LINK, NAN, 1, T0 + 1, "a share that is not a number" },
		{ twice, 3, BLAME_LINK, 0.5, 1, T0 + 1, "host 'a' is listed twice in a suspect" },
		{ one, 1, BLAME_LINK, 0.5, 2, T0 + 1, "window 3: suspect 'a' is listed twice" },
		{ empty, 1, BLAME_LINK, 0.5, 1, T0 + 1, "a host without a name" },
		{ absent, 1, BLAME_LINK, 0.5, 1, T0 + 1, "a host without a name" },
		{ too_long, 1, BLAME_LINK, 0.5, 1, T0 + 1, "or one longer than 253 bytes" },
	};
	size_t i, k;

	memset(long_name, 'x', sizeof(long_name) - 1);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = "a";
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct suspicion_suspect suspects[4];
		struct suspicion s = { 0 };
		struct err err = ERR_INIT;

		for (k = 0; k < ARRAY_SIZE(suspects); k++)
			suspects[k] = (struct suspicion_suspect){ .hosts = rows[i].hosts,
								  .n_hosts = rows[i].n_hosts,
								  .class = rows[i].class,
								  .counts = true,
								  .share = rows[i].share };
		CHECK_EQ(suspicion_add(
				 &s,
				 &(struct suspicion_window){ .id = 3,
							     .from_us = T0,
							     .until_us = rows[i].until_us,
							     .steps = 64,
							     .suspects = suspects,
							     .n_suspects = rows[i].n_suspects },
				 &err),
			 -EINVAL);
		CHECK_HAS(err.msg, rows[i].message);
		CHECK_EQ(s.n, 0);
		suspicion_release(&s);
	}
}

/* The policy's numbers are the ones that count. */
static void the_policy_says_how_many_and_how_far_apart(void)
{
	struct policy_jobs jobs = policy_jobs_init();
	struct suspicion s = { 0 };
	struct suspicion_list list;
	unsigned i;

	jobs.windows_k = jobs.windows_n = POLICY_JOBS_WINDOWS_MAX;
	for (i = 0; i < POLICY_JOBS_WINDOWS_MAX; i++) {
		suspicion_read(&s, &jobs, NULL, T0, &list);
		CHECK_EQ(list.of, i);
		CHECK(list.n == 0 || list.items[0].counts == BLAME_ONE_WINDOW);
		CHECK_EQ(add(&s, &(struct says){ 6 * i, 4, { "a", "b", "c" } }, 0, NULL), 0);
	}
	suspicion_read(&s, &jobs, NULL, T0, &list);
	CHECK_EQ(list.n, 3);
	CHECK_EQ(list.items[0].counts, BLAME_K_OF_N);
	CHECK_EQ(list.items[0].from_us, T0);
	jobs.apart_us = 7 * USEC_PER_MIN; /* every second one */
	suspicion_read(&s, &jobs, NULL, T0, &list);
	CHECK_EQ(list.of, POLICY_JOBS_WINDOWS_MAX / 2);
	CHECK_EQ(list.items[0].counts, BLAME_ONE_WINDOW);
	jobs.steps = 65;
	suspicion_read(&s, &jobs, NULL, T0, &list);
	CHECK_EQ(list.of, 0);
	CHECK_EQ(list.n, 0);
	suspicion_release(&s);
}

/* "a" is kept until minute 90, and "b c" in another order. */
static void found_kept(const struct suspicion *s, unsigned minute, char ret[static 256])
{
	static const char *const one[] = { "a" }, *const two[] = { "c", "b" };
	const struct suspicion_extension kept[] = {
		{ one, 1, BLAME_COMPUTE, T0 + 90 * USEC_PER_MIN },
		{ two, 2, BLAME_COMPUTE, T0 + 90 * USEC_PER_MIN },
	};
	const struct suspicion_extensions extensions = { kept, ARRAY_SIZE(kept) };
	const struct policy_jobs jobs = policy_jobs_init();
	struct suspicion_list list;
	size_t i, j, at = 0;

	suspicion_read(s, &jobs, &extensions, T0 + minute * USEC_PER_MIN, &list);
	ret[0] = '\0';
	for (i = 0; i < list.n; i++) {
		const struct suspicion_found *f = &list.items[i];

		for (j = 0; j < f->n_hosts; j++)
			at += (size_t)snprintf(ret + at, 256 - at, "%s%s", i || j ? " " : "",
					       f->hosts[j]);
		at += (size_t)snprintf(ret + at, 256 - at, ":%u/%u%s%s%s", f->hits, f->of,
				       f->counts == BLAME_K_OF_N ? "!" : "", f->coarse ? "~" : "",
				       f->kept_us ? "+" : "");
		CHECK(f->kept_us == 0 || f->kept_us == T0 + 90 * USEC_PER_MIN);
	}
}

static void who_is_kept_stays_a_suspect_while_any_of_the_windows_blames_him(void)
{
	static const struct {
		const char *what;
		struct says windows[5];
		unsigned now;
		const char *found;
	} rows[] = {
		{ "one of the last three",
		  { { 0, 4, { "a" } }, { 5, 4, { "a" } }, { 10, 4, { NULL } }, { 15, 4, { NULL } } },
		  19,
		  "a:1/3!+" },
		{ "none of the last three",
		  { { 0, 4, { "a" } }, { 5, 4, { NULL } }, { 10, 4, { NULL } }, { 15, 4, { NULL } } },
		  19,
		  "a:1/4!+" },
		{ "none of the last three, and another in one of these",
		  { { 0, 4, { "a", "d" } },
		    { 5, 4, { "c b" } },
		    { 10, 4, { NULL } },
		    { 15, 4, { "d" } } },
		  19,
		  "b c:1/3!+ d:1/3 a:1/4!+" },
		{ "not fresh any more", { { 0, 4, { "a" } }, { 5, 5, { "a" } } }, 89, "a:2/2!+" },
		{ "kept no more", { { 0, 4, { "a" } }, { 5, 5, { "a" } } }, 90, "" },
		{ "another host is not kept",
		  { { 0, 4, { "b" } }, { 5, 4, { "a" } } },
		  9,
		  "a:1/2!+ b:1/2" },
		{ "nor another class", { { 0, 4, { "a" }, BLAME_LINK } }, 4, "a:1/1" },
		{ "nor a set that has it", { { 0, 4, { "a b" } } }, 4, "a b:1/1" },
		{ "a set in any order", { { 0, 4, { "b c" } } }, 60, "b c:1/1!+" },
		{ "what is coarse stays so",
		  { { 0, 4, { "a" }, 0, true }, { 5, 4, { NULL } } },
		  9,
		  "a:1/2!~+" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct suspicion s = { 0 };
		char found[256];

		for (k = 0; k < ARRAY_SIZE(rows[i].windows) && rows[i].windows[k].minutes; k++)
			CHECK_EQ(add(&s, &rows[i].windows[k], 0, NULL), 0);
		found_kept(&s, rows[i].now, found);
		CHECK_STR(found, rows[i].found);
		suspicion_release(&s);
	}
}

static void who_is_kept_is_cleared_by_three_times_as_many_windows(void)
{
	const unsigned most = SUSPICION_KEPT_TIMES * (unsigned)policy_jobs_init().windows_n;
	struct suspicion s = { 0 };
	char found[256], expected[256];
	unsigned i;

	CHECK_EQ(add(&s, &(struct says){ 1, 4, { "a" } }, 0, NULL), 0);
	for (i = 2; i <= most + 1; i++) {
		CHECK_EQ(add(&s, &(struct says){ 1 + 5 * (i - 1), 4, { NULL } }, 0, NULL), 0);
		found_kept(&s, 5 * i, found);
		(void)snprintf(expected, sizeof(expected), "a:1/%u!+", i);
		CHECK_STR(found, i <= most ? expected : "");
	}
	suspicion_release(&s);
}

/* A window every five minutes blames "a" where there is an a; " hits/of" of him in the end, who is
 * kept. */
static void found_after(const char *windows, unsigned kept_min, char ret[static 32])
{
	static const char *const one[] = { "a" };
	const struct suspicion_extension kept = { one, 1, BLAME_COMPUTE,
						  T0 + kept_min * USEC_PER_MIN };
	const struct policy_jobs jobs = policy_jobs_init();
	const unsigned n = (unsigned)strlen(windows);
	struct suspicion s = { 0 };
	struct suspicion_list list;
	unsigned i;

	for (i = 0; i < n; i++)
		CHECK_EQ(add(&s, &(struct says){ 5 * i + 1, 4, { windows[i] == 'a' ? "a" : NULL } },
			     0, NULL),
			 0);
	suspicion_read(&s, &jobs, &(struct suspicion_extensions){ &kept, 1 },
		       T0 + (5 * n + 1) * USEC_PER_MIN, &list);
	ret[0] = '\0';
	if (list.n > 0)
		(void)snprintf(ret, 32, "%u/%u %d", list.items[0].hits, list.items[0].of,
			       list.items[0].counts == BLAME_K_OF_N);
	suspicion_release(&s);
}

static void who_lapsed_and_became_one_again_stays_one_as_long_as_he_is_kept(void)
{
	static const struct {
		const char *windows, *found;
		unsigned kept_min;
	} rows[] = {
		{ "aa..........", "", 600 },
		{ "aa.........aa.........", "4/22 1", 600 },
		{ "aa.........aa....................", "4/33 1", 600 },
		{ "aa.........a.a...................", "4/33 1", 600 },
		/* Once two of four, which is not two of three. */
		{ "aa.........a..a...................", "", 600 },
		/* Blamed again before it had lapsed. */
		{ "aa........aa...................", "", 600 },
		/* Without a second time, as before. */
		{ "aa.........a........", "1/9 1", 600 },
		/* No longer than it is kept. */
		{ "aa.........aa....................", "", 120 },
		/* The newest are listed, as many as there is room for. */
		{ "aaaaaaaaaaaaaaaaaa.........aa...............", "16/44 1", 600 },
	};
	char found[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		found_after(rows[i].windows, rows[i].kept_min, found);
		CHECK_STR(found, rows[i].found);
	}
}

static const struct test tests[] = {
	TEST(k_of_n_windows_make_a_suspect),
	TEST(any_order_gives_the_same),
	TEST(a_window_is_taken_once),
	TEST(only_the_newest_are_kept),
	TEST(what_is_no_window_is_refused),
	TEST(the_policy_says_how_many_and_how_far_apart),
	TEST(who_is_kept_stays_a_suspect_while_any_of_the_windows_blames_him),
	TEST(who_is_kept_is_cleared_by_three_times_as_many_windows),
	TEST(who_lapsed_and_became_one_again_stays_one_as_long_as_he_is_kept),
};

TEST_SUITE(tests);
