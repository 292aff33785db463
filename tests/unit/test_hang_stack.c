/* SPDX-License-Identifier: Apache-2.0 */
/* The output of py-spy for a process, and what is reported from it. */
#include "lib/hang/hang_stack.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define FRAME(name, file, shown, line)                \
	"{\"name\":\"" name "\",\"filename\":\"" file \
	"\",\"module\":null,\"short_filename\":" shown ",\"line\":" #line ",\"locals\":null}"
#define THREAD(name, tid, active, gil, frames)                                          \
	"{\"pid\":77,\"thread_id\":140,\"thread_name\":" name ",\"os_thread_id\":" #tid \
	",\"active\":" #active ",\"owns_gil\":" #gil ",\"frames\":[" frames             \
	"],\"process_info\":null}"

#define POLL                                                                       \
	FRAME("poll", "/usr/lib/python3.11/selectors.py", "\"selectors.py\"", 415) \
	"," FRAME("get", "/usr/lib/python3.11/queue.py", "\"queue.py\"", 180) ","
#define LOADER                                                                 \
	FRAME("_try_get_data", "/opt/venv/lib/torch/utils/data/dataloader.py", \
	      "\"torch/utils/data/dataloader.py\"", 1133)                      \
	"," FRAME("train", "/srv/job/train.py", "null", 31)
#define REDUCE                                                              \
	FRAME("wrapper", "/x/torch/distributed/c10d_logger.py",             \
	      "\"torch/distributed/c10d_logger.py\"", 81)                   \
	"," FRAME("all_reduce", "/x/torch/distributed/distributed_c10d.py", \
		  "\"torch/distributed/distributed_c10d.py\"", 2501)

static const struct {
	const char *text, *where;
} rows[] = {
	{ "[" THREAD("\"MainThread\"", 77, true, true, LOADER) "]",
	  "_try_get_data (torch/utils/data/dataloader.py:1133)" },
	/* Those that only wait say less than who called them. */
	{ "[" THREAD("\"Thread-1\"", 78, true, true, REDUCE) "," THREAD("\"MainThread\"", 77, false,
									false, POLL LOADER) "]",
	  "_try_get_data (torch/utils/data/dataloader.py:1133)" },
	/* A lock that another thread holds. */
	{ "[" THREAD("null", 78, true, true, FRAME("spin", "/srv/job/gil.py", "null", 4)) "," THREAD(
		  "null", 77, true, false, REDUCE) "," THREAD("null", 79, false, false,
							      POLL LOADER) "]",
	  "all_reduce (torch/distributed/distributed_c10d.py:2501)" },
	/* All of them wait: the innermost is all there is. */
	{ "[" THREAD("\"MainThread\"", 77, false, false,
		     FRAME("wait", "/usr/lib/python3.11/threading.py", "\"threading.py\"", 320)) "]",
	  "wait (threading.py:320)" },
	/* A frame without a line, or a file; a thread without frames. */
	{ "[" THREAD("\"MainThread\"", 77, true, false, FRAME("f", "/x/a.py", "\"\"", 0)) "]",
	  "f (a.py)" },
	{ "[" THREAD("\"MainThread\"", 77, true, false, FRAME("f", "<string>", "null", 9)) "]",
	  "f (<string>:9)" },
	{ "[" THREAD("\"MainThread\"", 77, true, false, "") "]", "" },
	/* Nobody says which is the main one: the process's first thread, else the last listed. */
	{ "[" THREAD("null", 77, true, false, LOADER) "," THREAD("null", 78, false, false,
								 REDUCE) "]",
	  "_try_get_data (torch/utils/data/dataloader.py:1133)" },
	{ "[" THREAD("null", null, true, false, LOADER) "," THREAD("null", null, false, false,
								   REDUCE) "]",
	  "all_reduce (torch/distributed/distributed_c10d.py:2501)" },
	/* Keys of tomorrow, and none of today's. */
	{ "[{\"frames\":[{\"name\":\"f\",\"column\":3}],\"new\":{}}]", "f" },
	/* A name that would drive a terminal. */
	{ "[{\"frames\":[{\"name\":\"a\\u001b[2J\\u202e\",\"filename\":\"b\\n.py\",\"line\":1}]}]",
	  "a?[2J? (b?.py:1)" },
};

static void the_innermost_frame_that_says_something_is_where_it_is(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hang_stack stack;
		struct err err = ERR_INIT;

		CHECK_EQ(hang_stack_read(rows[i].text, strlen(rows[i].text), &stack, &err), 0);
		CHECK_STR(err.msg, "");
		CHECK_STR(stack.where, rows[i].where);
	}
}

static void a_long_name_is_cut_to_a_place_of_its_own(void)
{
	enum { LONG = 5000 };
	char name[LONG + 1];
	CLEANUP(freep) char *text = NULL;
	struct hang_stack stack;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < LONG; i++) /* two bytes each: a cut in one must not be seen */
		name[i] = (char)(i % 2 ? 0xa9 : 0xc3);
	name[LONG] = '\0';
	text = xasprintf("[{\"frames\":[{\"name\":\"x%s\",\"filename\":\"/a/%s\",\"line\":7}]}]",
			 name, name);
	CHECK_EQ(hang_stack_read(text, strlen(text), &stack, &err), 0);
	CHECK_HAS(stack.where, ":7)");
	CHECK(strlen(stack.where) < sizeof(stack.where));
	for (i = 0; stack.where[i]; i += utf8_length(stack.where + i))
		CHECK(utf8_length(stack.where + i) > 0);
}

static void what_py_spy_never_prints_is_refused_in_a_sentence(void)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "py-spy: " },
		{ "Error: Permission Denied", "py-spy: " },
		{ "{}", "py-spy: expected a list" },
		{ "[]", "py-spy: no thread" },
		{ "[3]", "py-spy: [0]: expected an object" },
		{ "[{}]", "frames: expected a list" },
		{ "[{\"frames\":[]}", "py-spy: " },
	};
	CLEANUP(freep) char *large = xcalloc(1, HANG_STACK_MAX + 1);
	struct hang_stack stack = { .where = "x" };
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		err = (struct err)ERR_INIT;
		CHECK_EQ(hang_stack_read(bad[i].text, strlen(bad[i].text), &stack, &err), -EINVAL);
		CHECK_HAS(err.msg, bad[i].words);
	}
	CHECK_EQ(hang_stack_read(large, HANG_STACK_MAX + 1, &stack, &err), -E2BIG);
	CHECK_STR(stack.where, "x");
}

static const struct test tests[] = {
	TEST(the_innermost_frame_that_says_something_is_where_it_is),
	TEST(a_long_name_is_cut_to_a_place_of_its_own),
	TEST(what_py_spy_never_prints_is_refused_in_a_sentence),
};

TEST_SUITE(tests);
