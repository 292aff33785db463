/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests: one CUnit program a module. A test file holds functions, a table
 * and test_main():
 *
 *	static void a_number_is_read(void) { CHECK_EQ(parse("7"), 7); }
 *	static const struct test tests[] = { TEST(a_number_is_read) };
 *	int main(void) { return TEST_MAIN("parse", tests); }
 *
 * Names of tests are sentences. The last line printed is
 * "N passed, N failed, N skipped"; the exit status is 1 after any failure
 * (CU_basic_run_tests() alone exits 0).
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
#define TEST_MAIN(suite, tests) test_main(suite, tests, ARRAY_SIZE(tests))

int test_main(const char *suite, const struct test *tests, size_t n);

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

/* A fresh directory that goes when the program ends. Borrowed. */
const char *test_dir(void);

/* Write a file below test_dir() (making directories) and return its path; free it. */
char *test_file(const char *name, const char *text);
