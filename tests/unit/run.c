/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main() of the unit tests of an area:
 *
 *	PROGRAM [SUITE...]      run these suites, or all: "windows" or "test_windows"
 *	PROGRAM --list          list the tests of all suites
 *
 * Each suite runs in a child process. The parent prints its last line, "SUITE: N passed, N failed,
 * N skipped", so if the child dies it can print the cause; that counts as a failed test, and the
 * next suite runs. The very last line has the totals; the exit status is 1 after any failure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* The result of a child, shared with its parent. */
struct left {
	struct test_counts counts;
	bool ended; /* the tests are over; the exit may still fail, as with a leak */
};

static bool is_called(const struct test_suite *suite, const char *word)
{
	return streq(suite->name, starts_with(word, "test_") ? word + strlen("test_") : word);
}

static const struct test_suite *suite_of(const char *word)
{
	const struct test_suite *s = test_suites();

	while (s && !is_called(s, word))
		s = s->next;
	return s;
}

static bool is_asked_for(const struct test_suite *suite, char *const *words)
{
	size_t i;

	for (i = 0; words[i]; i++)
		if (is_called(suite, words[i]))
			return true;
	return i == 0 && !suite->by_name;
}

static void list(void)
{
	const struct test_suite *s;
	size_t i;

	for (s = test_suites(); s; s = s->next)
		for (i = 0; i < s->n; i++)
			(void)printf("%s %s\n", s->name, s->tests[i].name);
}

/* Returns how a child failed, or NULL if it ended normally. */
static char *death(int status, const struct left *left)
{
	const int right = left->counts.failed ? STATUS_FAILED : 0;

	if (WIFSIGNALED(status))
		return xasprintf("ended by signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	if (!left->ended)
		return xasprintf("ended with status %d before its tests did", WEXITSTATUS(status));
	return WEXITSTATUS(status) == right
		       ? NULL
		       : xasprintf("ended with status %d", WEXITSTATUS(status));
}

static struct test_counts run(const struct test_suite *suite, struct left *left)
{
	CLEANUP(freep) char *how = NULL;
	int status = 0;
	pid_t pid;

	*left = (struct left){ 0 };
	pid = fork();
	if (pid == 0) {
		left->counts = test_run_suite(suite);
		left->ended = true;
		status = left->counts.failed ? STATUS_FAILED : 0;
		exit(status); /* lint: allow banned: the end of this process */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	how = death(status, left);
	if (how)
		left->counts.failed++;
	(void)printf("\n%s: %u passed, %u failed, %u skipped%s%s\n", suite->name,
		     left->counts.passed, left->counts.failed, left->counts.skipped,
		     how ? ", crashed: " : "", how ? how : "");
	return left->counts;
}

static int run_all(char *const *words)
{
	struct test_counts sum = { 0 }, one;
	const struct test_suite *s;
	struct left *left;

	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (left == MAP_FAILED)
		abort();
	for (s = test_suites(); s; s = s->next) {
		if (!is_asked_for(s, words))
			continue;
		one = run(s, left);
		sum.passed += one.passed;
		sum.failed += one.failed;
		sum.skipped += one.skipped;
	}
	(void)printf("%u passed, %u failed, %u skipped\n", sum.passed, sum.failed, sum.skipped);
	return sum.failed ? STATUS_FAILED : 0;
}

int main(int argc, char **argv)
{
	const struct test_suite *s;
	int i;

	(void)setenv("srcdir", TEST_SRCDIR, true);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && streq(argv[1], "--child")) {
		s = suite_of(argv[2]);
		return s && s->child ? s->child(argc - 3, argv + 3) : STATUS_USAGE;
	}
	if (argc == 2 && streq(argv[1], "--list")) {
		list();
		return 0;
	}
	for (i = 1; i < argc; i++) {
		if (!suite_of(argv[i])) {
			(void)fprintf(stderr, "no such suite: %s; --list names them\n", argv[i]);
			return STATUS_USAGE;
		}
	}
	return run_all(argv + 1);
}
