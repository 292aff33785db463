/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests: one CUnit suite per module, one program per area (local.mk). A test file has
 *functions, a table and TEST_SUITE():
 *
 *	static void a_number_is_read(void) { CHECK_EQ(parse("7"), 7); }
 *	static const struct test tests[] = { TEST(a_number_is_read) };
 *	TEST_SUITE(tests);
 *
 * Names of tests are sentences. A suite has the name of its file without "test_". The program
 *(run.c) runs each suite in its own process, so no suite sees the state of another or dies with it.
 */
#pragma once

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(function)              \
	{                           \
#function, function \
	}

/* The fields from `name` on may be set in TEST_SUITE(), as `.end = reports_done`. */
struct test_suite {
	const char *file;
	const struct test *tests;
	size_t n;
	const char *name;		     /* NULL: that of the file */
	void (*begin)(void);		     /* called before the first test, in its process */
	void (*end)(void);		     /* called after the last */
	int (*child)(int argc, char **argv); /* the main of "PROGRAM --child SUITE ARG..." */
	bool by_name;			     /* run only if named on the command line */
	struct test_suite *next;
};

#define TEST_SUITE(table, ...)                                                        \
	static struct test_suite suite_of_##table = {                                 \
		.file = __FILE__, .tests = table, .n = ARRAY_SIZE(table), __VA_ARGS__ \
	};                                                                            \
	__attribute__((constructor)) static void add_suite_of_##table(void)           \
	{                                                                             \
		test_add_suite(&suite_of_##table);                                    \
	}                                                                             \
	struct test_suite

/* Called before main(), in link order. */
void test_add_suite(struct test_suite *suite);

/* Returns the first suite of the list; its `name` is set. */
const struct test_suite *test_suites(void);

struct test_counts {
	unsigned passed, failed, skipped;
};

/* Runs it in this process and prints each result. */
struct test_counts test_run_suite(const struct test_suite *suite);

/* Returns the path of a file of the source tree. The caller frees it. */
char *test_source(const char *path);

/* Prints why and ends the calling test as skipped. */
void test_skip(const char *why);

/* True under scripts/test --full (ASSAY_FULL=1). */
bool test_full(void);

/*
 * Returns how often to repeat a randomized test: `full` under --full, else `usual`. A build with
 * sanitizers gets a quarter of that, because it looks for memory errors and takes ten times as long.
 */
size_t test_times(size_t full, size_t usual);

/* Returns the seed of random numbers: `usual`, or with ASSAY_SEEDS=N shifted by N, for numbers that
 * nothing was fitted to. */
uint64_t test_seed(uint64_t usual);

/* Assertions that print both values. The test continues after a failure. */
#define CHECK(condition) \
	CU_assertImplementation(!!(condition), __LINE__, #condition, __FILE__, "", CU_FALSE)
#define CHECK_EQ(a, b) \
	test_check_ll((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_STR(a, b) test_check_str((a), (b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) \
	test_check_near((a), (b), (tolerance), #a " near " #b, __FILE__, __LINE__)
/* `text` contains `part`. */
#define CHECK_HAS(text, part) test_check_has((text), (part), #text, __FILE__, __LINE__)

void test_check_ll(long long a, long long b, const char *what, const char *file, unsigned line);
void test_check_str(const char *a, const char *b, const char *what, const char *file, unsigned line);
void test_check_near(double a, double b, double tolerance, const char *what, const char *file,
		     unsigned line);
void test_check_has(const char *text, const char *part, const char *what, const char *file,
		    unsigned line);

/* Returns a temporary directory that is removed when the suite ends. Borrowed. */
const char *test_dir(void);

/* Writes a file below test_dir(), creates its directories, and returns its path. The caller frees it. */
char *test_file(const char *name, const char *text);
