/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests: a CUnit suite a module, a program an area (local.mk). A test file holds functions, a
 * table and TEST_SUITE():
 *
 *	static void a_number_is_read(void) { CHECK_EQ(parse("7"), 7); }
 *	static const struct test tests[] = { TEST(a_number_is_read) };
 *	TEST_SUITE(tests);
 *
 * Names of tests are sentences. A suite has the name of its file without "test_". The program (run.c)
 * runs each suite in a process of its own, so that none sees what another left, nor ends with it.
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

/* The fields from `name` on may be given to TEST_SUITE(), as `.end = reports_done`. */
struct test_suite {
	const char *file;
	const struct test *tests;
	size_t n;
	const char *name;		     /* or NULL: that of the file */
	void (*begin)(void);		     /* before its first test, in its process */
	void (*end)(void);		     /* after the last */
	int (*child)(int argc, char **argv); /* what "PROGRAM --child SUITE ARG..." does */
	bool by_name;			     /* run only if it is asked for */
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

/* Before main(), in the order in which the files are linked. */
void test_add_suite(struct test_suite *suite);

/* The first of all; its `name` is set. */
const struct test_suite *test_suites(void);

struct test_counts {
	unsigned passed, failed, skipped;
};

/* Run it in this process, and say each result. */
struct test_counts test_run_suite(const struct test_suite *suite);

/* The path of a file of the sources; free it. */
char *test_source(const char *path);

/* Say why and end the test that calls it as skipped. */
void test_skip(const char *why);

/* True under scripts/test --full (ASSAY_FULL=1): run the long counts. */
bool test_full(void);

/*
 * How often to try what is the same each time but for its seed: `full` under --full, else `usual`,
 * and of that a quarter in a build with sanitizers, which looks for errors of memory and takes
 * ten times as long; the counts are those of the other builds.
 */
size_t test_times(size_t full, size_t usual);

/* Where random numbers begin: `usual`, or with ASSAY_SEEDS=N so many further on, for numbers that
 * nothing was fitted to. */
uint64_t test_seed(uint64_t usual);

/* Assertions that print both values. They go on after a failure. */
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

/* A fresh directory that goes when the suite ends. Borrowed. */
const char *test_dir(void);

/* Write a file below test_dir() (making directories) and return its path; free it. */
char *test_file(const char *name, const char *text);
