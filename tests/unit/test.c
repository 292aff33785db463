/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/test.h"

#include <CUnit/Basic.h>
#include <CUnit/TestRun.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

static struct test_suite *suites;
static unsigned skipped;
static char dir[64];

void test_skip(const char *why)
{
	skipped++;
	(void)printf("\nSKIP %s: %s\n", CU_get_current_test()->pName, why);
}

bool test_full(void)
{
	return streq(getenv("ASSAY_FULL"), "1");
}

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = true };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
#else
enum { SANITIZED = false };
#endif

size_t test_times(size_t full, size_t usual)
{
	enum { PART = 4 };

	if (test_full())
		return full;
	return SANITIZED ? (usual + PART - 1) / PART : usual;
}

uint64_t test_seed(uint64_t usual)
{
	const char *further = getenv("ASSAY_SEEDS");

	return usual + (further ? strtoull(further, NULL, 10) : 0);
}

static void check(bool ok, const char *text, const char *file, unsigned line)
{
	(void)CU_assertImplementation(ok, line, text, file, "", CU_FALSE);
}

void test_check_ll(long long a, long long b, const char *what, const char *file, unsigned line)
{
	CLEANUP(freep) char *text = xasprintf("%s (%lld, %lld)", what, a, b);

	check(a == b, text, file, line);
}

void test_check_str(const char *a, const char *b, const char *what, const char *file, unsigned line)
{
	CLEANUP(freep)
	char *text = xasprintf("%s (\"%s\", \"%s\")", what, a ? a : "NULL", b ? b : "NULL");

	check(streq(a, b), text, file, line);
}

void test_check_near(double a, double b, double tolerance, const char *what, const char *file,
		     unsigned line)
{
	CLEANUP(freep) char *text = xasprintf("%s (%.12g, %.12g)", what, a, b);

	check(fabs(a - b) <= tolerance, text, file, line);
}

void test_check_has(const char *text, const char *part, const char *what, const char *file,
		    unsigned line)
{
	CLEANUP(freep)
	char *said = xasprintf("%s has \"%s\" (\"%s\")", what, part, text ? text : "NULL");

	check(text && strstr(text, part), said, file, line);
}

static int remove_one(const char *path, const struct stat *st UNUSED, int flag UNUSED,
		      struct FTW *ftw UNUSED)
{
	return remove(path);
}

static void remove_dir(void)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_dir(void)
{
	if (dir[0])
		return dir;
	(void)snprintf(dir, sizeof(dir), "/tmp/assay-test-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	(void)atexit(remove_dir);
	return dir;
}

/* As file_replace(), but not for a loss of power, which makes a file cost milliseconds: some tests
 * write thousands. */
static int put_file(const char *path, const char *text)
{
	CLEANUP(freep) char *temporary = xasprintf("%s.%ld.tmp", path, (long)getpid());
	CLEANUP(closep) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int r = fd < 0 ? fd : file_write_all(fd, text, strlen(text));

	return r == 0 ? rename(temporary, path) : r;
}

char *test_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", test_dir(), name);
	CLEANUP(freep) char *copy = xstrdup(path);

	if (file_mkdirs(dirname(copy), NULL) < 0 || put_file(path, text) < 0)
		abort();
	return path;
}

void test_add_suite(struct test_suite *suite)
{
	static struct test_suite **end = &suites;
	const char *slash = strrchr(suite->file, '/'), *name = slash ? slash + 1 : suite->file;

	if (!suite->name) {
		name += starts_with(name, "test_") ? strlen("test_") : 0;
		suite->name = xasprintf("%.*s", (int)strcspn(name, "."), name);
	}
	*end = suite;
	end = &suite->next;
}

const struct test_suite *test_suites(void)
{
	return suites;
}

char *test_source(const char *path)
{
	return xasprintf("%s/%s", getenv("srcdir"), path);
}

struct test_counts test_run_suite(const struct test_suite *suite)
{
	struct test_counts counts = { 0 };
	CU_pSuite s;
	size_t i;

	if (CU_initialize_registry() != CUE_SUCCESS)
		abort();
	s = CU_add_suite(suite->name, NULL, NULL);
	for (i = 0; i < suite->n; i++)
		(void)CU_add_test(s, suite->tests[i].name, suite->tests[i].run);
	if (suite->begin)
		suite->begin();
	CU_basic_set_mode(CU_BRM_VERBOSE);
	(void)CU_basic_run_tests();
	if (suite->end)
		suite->end();
	counts.failed = CU_get_number_of_tests_failed();
	counts.skipped = skipped;
	counts.passed = (unsigned)suite->n - counts.failed - skipped;
	CU_cleanup_registry();
	return counts;
}
