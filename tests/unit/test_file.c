/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

static char *below(const char *name)
{
	return xasprintf("%s/%s", test_dir(), name);
}

static void check_holds(const char *path, const char *expected)
{
	CLEANUP(freep) char *text = NULL;

	CHECK_EQ(file_read(AT_FDCWD, path, 1 << 20, &text, NULL, NULL), 0);
	CHECK_STR(text, expected);
}

static void a_whole_file_is_read(void)
{
	CLEANUP(freep) char *path = test_file("a", "one\0two\n");
	CLEANUP(freep) char *text = NULL;
	size_t len = 77;

	CHECK_EQ(file_replace(AT_FDCWD, path, "one\0two\n", 8, NULL), 0);
	CHECK_EQ(file_read(AT_FDCWD, path, 8, &text, &len, NULL), 0);
	CHECK_EQ(len, 8);
	CHECK(memcmp(text, "one\0two\n", 9) == 0);
}

static void an_empty_file_is_an_empty_string(void)
{
	CLEANUP(freep) char *path = test_file("empty", "");
	CLEANUP(freep) char *text = NULL;
	size_t len = 77;

	CHECK_EQ(file_read(AT_FDCWD, path, 0, &text, &len, NULL), 0);
	CHECK_EQ(len, 0);
	CHECK_STR(text, "");
}

static void files_that_lie_about_their_size_are_read(void)
{
	CLEANUP(freep) char *text = NULL;
	size_t len = 0;

	/* procfs says 0 bytes. */
	CHECK_EQ(file_read(AT_FDCWD, "/proc/self/maps", 1 << 20, &text, &len, NULL), 0);
	CHECK(len > 100);
}

static void what_cannot_be_read_says_why(void)
{
	CLEANUP(freep) char *big = test_file("big", "0123456789");
	CLEANUP(freep) char *fifo = below("fifo");
	const struct {
		const char *path;
		int code;
		const char *sentence;
	} cases[] = {
		{ big, EFBIG, "big: larger than 9 bytes" },
		{ test_dir(), EISDIR, "Is a directory" },
		{ "/nowhere/x", ENOENT, "/nowhere/x: No such file or directory" },
		{ fifo, EINVAL, "fifo: not a regular file" },
		{ "/dev/null", EINVAL, "/dev/null: not a regular file" },
		{ "/proc/self/mem", EIO, "/proc/self/mem: Input/output error" },
	};
	size_t i;

	CHECK_EQ(mkfifo(fifo, 0600), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		char *text = NULL;

		CHECK_EQ(file_read(AT_FDCWD, cases[i].path, 9, &text, NULL, &err), -cases[i].code);
		CHECK(!text);
		CHECK_HAS(err.msg, cases[i].sentence);
	}
}

static void one_line_files_lose_their_newline(void)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{ "", "" },	      { "\n", "" }, { "a\n", "a" }, { " a b \r\n\n", " a b" },
		{ "a\nb\n", "a\nb" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *path = test_file("line", cases[i].text);
		CLEANUP(freep) char *line = NULL;

		CHECK_EQ(file_read_line(AT_FDCWD, path, &line), 0);
		CHECK_STR(line, cases[i].line);
	}
}

static void a_line_has_a_limit(void)
{
	CLEANUP(freep) char *text = xcalloc(4098, 1);
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *longer = NULL;
	CLEANUP(freep) char *line = NULL;

	memset(text, 'x', 4096);
	path = test_file("line", text);
	CHECK_EQ(file_read_line(AT_FDCWD, path, &line), 0);
	text[4096] = 'x';
	longer = test_file("longer", text);
	CHECK_EQ(file_read_line(AT_FDCWD, longer, &line), -EFBIG);
	CHECK_EQ(strlen(line), 4096);
}

static void numbers_are_decimal_or_hexadecimal(void)
{
	static const struct {
		const char *text;
		int r;
		long long value;
	} cases[] = {
		{ "0\n", 0, 0 },
		{ "42\n", 0, 42 },
		{ "-1\n", 0, -1 },
		{ "010\n", 0, 10 },
		{ "0x10de\n", 0, 0x10de },
		{ "9223372036854775807\n", 0, 9223372036854775807 },
		{ "9223372036854775808\n", -EINVAL, 77 },
		{ "", -EINVAL, 77 },
		{ "\n", -EINVAL, 77 },
		{ "1 2\n", -EINVAL, 77 },
		{ "8.0 GT/s PCIe\n", -EINVAL, 77 },
		{ "0xzz\n", -EINVAL, 77 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *path = test_file("number", cases[i].text);
		long long value = 77;

		CHECK_EQ(file_read_i64(AT_FDCWD, path, &value), cases[i].r);
		CHECK_EQ(value, cases[i].value);
	}
}

/* Beside `path`, of it. */
static size_t count_temporaries(const char *path)
{
	CLEANUP(freep) char *pattern = xasprintf("%s.*", path);
	glob_t found = { 0 };
	size_t n;

	(void)glob(pattern, 0, NULL, &found);
	n = found.gl_pathc;
	globfree(&found);
	return n;
}

static void replacing_leaves_no_temporary(void)
{
	CLEANUP(freep) char *path = test_file("kept/file", "old");

	CHECK_EQ(file_replace(AT_FDCWD, path, "new", 3, NULL), 0);
	check_holds(path, "new");
	CHECK_EQ(count_temporaries(path), 0);
}

/* Of the same pid in another container, or of somebody who waits for us there. */
static void a_file_in_the_way_of_the_temporary_is_not_written(void)
{
	CLEANUP(freep) char *path = test_file("shared/file", "old");
	CLEANUP(freep) char *other = test_file("shared/other", "not ours");
	CLEANUP(freep) char *way = xasprintf("%s.%ld.tmp", path, (long)getpid());

	CHECK_EQ(link(other, way), 0);
	CHECK_EQ(file_replace(AT_FDCWD, path, "new", 3, NULL), 0);
	check_holds(path, "new");
	check_holds(other, "not ours");
	check_holds(way, "not ours");
}

/* A disk that is full after 4 bytes, played by a limit on file sizes. */
static void a_failed_replace_keeps_the_old_content(void)
{
	CLEANUP(freep) char *path = test_file("kept/full", "old");
	struct rlimit before, tiny;
	struct err err = ERR_INIT;

	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	tiny = before;
	tiny.rlim_cur = 4;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &tiny), 0);
	CHECK_EQ(file_replace(AT_FDCWD, path, "new content", 11, &err), -EFBIG);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_HAS(err.msg, "cannot write ");
	CHECK_HAS(err.msg, "kept/full: File too large");
	check_holds(path, "old");
	CHECK_EQ(count_temporaries(path), 0);
}

static void replacing_needs_its_directory(void)
{
	struct err err = ERR_INIT;

	CHECK_EQ(file_replace(AT_FDCWD, "/nowhere/file", "x", 1, &err), -ENOENT);
	CHECK_STR(err.msg, "cannot write /nowhere/file: No such file or directory");
	CHECK_EQ(file_replace(AT_FDCWD, test_dir(), "x", 1, &err), -EISDIR);
}

static void paths_start_at_the_directory_given(void)
{
	CLEANUP(closep) int dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(freep) char *text = NULL;

	CHECK_EQ(file_replace(dir, "relative", "x", 1, NULL), 0);
	CHECK_EQ(file_append(dir, "relative", "y", 1, NULL), 0);
	CHECK_EQ(file_read(dir, "relative", 10, &text, NULL, NULL), 0);
	CHECK_STR(text, "xy");
}

/* Readers beside a writer that replaces: each sees one whole content. */
static void a_reader_never_sees_a_part(void)
{
	CLEANUP(freep) char *path = below("whole");
	CLEANUP(freep) char *a = xcalloc(50001, 1);
	CLEANUP(freep) char *b = xcalloc(30001, 1);
	unsigned seen[2] = { 0, 0 }, torn = 0, i;
	pid_t writer;

	memset(a, 'a', 50000);
	memset(b, 'b', 30000);
	CHECK_EQ(file_replace(AT_FDCWD, path, a, 50000, NULL), 0);
	writer = fork();
	if (writer == 0) {
		for (;;) {
			(void)file_replace(AT_FDCWD, path, b, 30000, NULL);
			(void)file_replace(AT_FDCWD, path, a, 50000, NULL);
		}
	}
	for (i = 0; i < 100000 && (i < 2000 || !seen[0] || !seen[1]); i++) {
		CLEANUP(freep) char *text = NULL;

		CHECK_EQ(file_read(AT_FDCWD, path, 1 << 20, &text, NULL, NULL), 0);
		if (streq(text, a) || streq(text, b))
			seen[streq(text, b)]++;
		else
			torn++;
	}
	(void)kill(writer, SIGKILL);
	CHECK_EQ(waitpid(writer, NULL, 0), writer);
	CHECK_EQ(torn, 0);
	CHECK(seen[0] > 0);
	CHECK(seen[1] > 0);
}

static void appending_makes_and_extends(void)
{
	CLEANUP(freep) char *path = below("log");

	CHECK_EQ(file_append(AT_FDCWD, path, "a\n", 2, NULL), 0);
	CHECK_EQ(file_append(AT_FDCWD, path, "b\n", 2, NULL), 0);
	check_holds(path, "a\nb\n");
}

static void links_are_not_followed_when_writing(void)
{
	CLEANUP(freep) char *target = test_file("target", "safe");
	CLEANUP(freep) char *link = below("link");
	struct err err = ERR_INIT;

	CHECK_EQ(symlink(target, link), 0);
	CHECK_EQ(file_append(AT_FDCWD, link, "x", 1, &err), -ELOOP);
	CHECK_EQ(file_replace(AT_FDCWD, link, "new", 3, NULL), 0);
	check_holds(target, "safe");
	check_holds(link, "new");
}

static void directories_are_made_with_their_parents(void)
{
	CLEANUP(freep) char *deep = below("x/y/z");
	CLEANUP(freep) char *slashes = below("p//q/");
	CLEANUP(freep) char *file = test_file("plain", "");
	CLEANUP(freep) char *under = xasprintf("%s/sub", file);
	struct err err = ERR_INIT;

	CHECK_EQ(file_mkdirs(deep, NULL), 0);
	CHECK_EQ(file_mkdirs(deep, NULL), 0);
	CHECK_EQ(access(deep, F_OK), 0);
	CHECK_EQ(file_mkdirs(slashes, NULL), 0);
	CHECK_EQ(file_mkdirs(under, &err), -ENOTDIR);
	CHECK_HAS(err.msg, "cannot make directory ");
	CHECK_HAS(err.msg, "plain");
	CHECK_EQ(file_mkdirs(file, &err), -ENOTDIR);
}

static const struct test tests[] = {
	TEST(a_whole_file_is_read),
	TEST(an_empty_file_is_an_empty_string),
	TEST(files_that_lie_about_their_size_are_read),
	TEST(what_cannot_be_read_says_why),
	TEST(one_line_files_lose_their_newline),
	TEST(a_line_has_a_limit),
	TEST(numbers_are_decimal_or_hexadecimal),
	TEST(replacing_leaves_no_temporary),
	TEST(a_file_in_the_way_of_the_temporary_is_not_written),
	TEST(a_failed_replace_keeps_the_old_content),
	TEST(replacing_needs_its_directory),
	TEST(paths_start_at_the_directory_given),
	TEST(a_reader_never_sees_a_part),
	TEST(appending_makes_and_extends),
	TEST(links_are_not_followed_when_writing),
	TEST(directories_are_made_with_their_parents),
};

TEST_SUITE(tests);
