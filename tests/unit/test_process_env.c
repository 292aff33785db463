/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/process_env.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define LONG                                                                                       \
	"0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/" \
	"0123456789"
#define CANARY "canary-1f6e9d"
#define UID "0f3c5a52-9d2e-4c11-8f6e-d1b2a3c4e5f6"

static const char *value(const struct process_env *env, const char *key)
{
	size_t i;

	for (i = 0; i < PROCESS_ENV_KEYS; i++) {
		if (streq(process_env_keys[i], key))
			return env->values[i];
	}
	CHECK(false);
	return "";
}

/* In pieces of `piece` bytes. */
static struct process_env parse(const char *bytes, size_t n, size_t piece)
{
	struct process_env_reader reader;
	struct process_env env;
	size_t at;

	process_env_begin(&reader, &env);
	for (at = 0; at < n; at += piece)
		process_env_add(&reader, bytes + at, MIN(piece, n - at));
	process_env_end(&reader);
	return env;
}

static struct process_env parse_one(const char *entry)
{
	return parse(entry, strlen(entry) + 1, 4096);
}

static void the_keys_are_where_they_are_asked_for(void)
{
	CHECK_STR(process_env_keys[PROCESS_ENV_RANK], "RANK");
	CHECK_STR(process_env_keys[PROCESS_ENV_PROCID], "SLURM_PROCID");
	CHECK_STR(process_env_keys[PROCESS_ENV_SLURM_JOB], "SLURM_JOB_ID");
	CHECK_STR(process_env_keys[PROCESS_ENV_JOB], "ASSAY_JOB");
	CHECK_STR(process_env_keys[PROCESS_ENV_PROFILER], "NCCL_PROFILER_PLUGIN");
}

static void pieces_of_any_size_say_the_same(void)
{
	static const char bytes[] = "PATH=/bin\0TOKEN=" CANARY "\0RANK=17\0\0=\0RANKS=3\0"
				    "ASSAY_JOB=research/llm-7\0SLURM_JOB_ID=99_1\0XRANK=9";
	size_t piece;

	for (piece = 1; piece <= sizeof(bytes); piece++) {
		const struct process_env env = parse(bytes, sizeof(bytes), piece);

		CHECK_STR(value(&env, "RANK"), "17");
		CHECK_STR(value(&env, "ASSAY_JOB"), "research/llm-7");
		CHECK_STR(value(&env, "SLURM_JOB_ID"), "99_1");
		CHECK_STR(value(&env, "WORLD_SIZE"), "");
	}
}

static void only_values_of_their_form_are_kept(void)
{
	static const struct {
		const char *entry, *key, *value;
	} rows[] = {
		{ "RANK=0", "RANK", "0" },
		{ "RANK=1234567890", "RANK", "1234567890" },
		{ "RANK=12345678901", "RANK", "" },
		{ "RANK=-1", "RANK", "" },
		{ "RANK=1 ", "RANK", "" },
		{ "RANK=", "RANK", "" },
		{ "RANK", "RANK", "" },
		{ "rank=1", "RANK", "" },
		{ "RANK=" CANARY, "RANK", "" },
		{ "ASSAY_RUN=2", "ASSAY_RUN", "2" },
		{ "ASSAY_JOB=a/b.c:d-e_f", "ASSAY_JOB", "a/b.c:d-e_f" },
		{ "ASSAY_JOB=a b", "ASSAY_JOB", "" },
		{ "ASSAY_JOB=a\nb", "ASSAY_JOB", "" },
		{ "ASSAY_JOB=\xc3\xa4", "ASSAY_JOB", "" },
		{ "SLURM_JOB_ID=a/b", "SLURM_JOB_ID", "" },
		{ "NCCL_PROFILER_PLUGIN=inspector", "NCCL_PROFILER_PLUGIN", "inspector" },
		{ "NCCL_PROFILER_PLUGIN=/opt/" LONG "/libnccl-profiler.so", "NCCL_PROFILER_PLUGIN",
		  "libnccl-profiler.so" },
		{ "NCCL_PROFILER_PLUGIN=/opt/a b", "NCCL_PROFILER_PLUGIN", "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct process_env env = parse_one(rows[i].entry);

		CHECK_STR(value(&env, rows[i].key), rows[i].value);
	}
}

static void a_value_has_at_most_64_bytes(void)
{
	size_t n;

	for (n = 60; n < 200; n++) {
		CLEANUP(freep) char *name = xcalloc(n + 1, 1);
		CLEANUP(freep) char *entry = NULL;
		struct process_env env;

		memset(name, 'a', n);
		entry = xasprintf("SLURM_JOB_ID=%s", name);
		env = parse_one(entry);
		CHECK_STR(value(&env, "SLURM_JOB_ID"), n <= 64 ? name : "");
	}
}

static void an_entry_that_is_too_long_does_not_spoil_the_next(void)
{
	static char bytes[3 * 4096];
	static const char rank[] = "RANK=5";
	struct process_env env;

	memset(bytes, 'x', sizeof(bytes));
	bytes[sizeof(bytes) - sizeof(rank) - 1] = '\0';
	memcpy(bytes + sizeof(bytes) - sizeof(rank), rank, sizeof(rank));
	env = parse(bytes, sizeof(bytes), 4096);
	CHECK_STR(value(&env, "RANK"), "5");
}

static void the_first_of_a_key_counts_and_one_without_an_end_does_not(void)
{
	static const char twice[] = "RANK=1\0RANK=2", cut[] = { 'R', 'A', 'N', 'K', '=', '1' };
	struct process_env env = parse(twice, sizeof(twice), 4096);

	CHECK_STR(value(&env, "RANK"), "1");
	env = parse(cut, sizeof(cut), 4096);
	CHECK_STR(value(&env, "RANK"), "");
}

static void the_reader_is_empty_in_the_end(void)
{
	static const char bytes[] = "TOKEN=" CANARY;
	static const struct process_env_reader empty;
	struct process_env_reader reader;
	struct process_env env;

	process_env_begin(&reader, &env);
	process_env_add(&reader, bytes, sizeof(bytes) - 1);
	CHECK(memcmp(reader.entry, bytes, sizeof(bytes) - 1) == 0);
	process_env_end(&reader);
	CHECK(memcmp(&reader, &empty, sizeof(empty)) == 0);
}

/* Started anew as `sleep` with the environment; its number. */
static pid_t start(char *const *environment)
{
	static char program[] = "sleep", seconds[] = "600";
	char *const words[] = { program, seconds, NULL };
	int ends[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		execve("/bin/sleep", words, environment);
		_exit(127);
	}
	(void)close(ends[1]);
	(void)!read(ends[0], &byte, 1); /* its end is closed by execve() */
	(void)close(ends[0]);
	return pid;
}

static void a_process_is_read_while_it_lives(void)
{
	static char token[] = "TOKEN=" CANARY, rank[] = "RANK=3", job[] = "ASSAY_JOB=a";
	char *const environment[] = { token, rank, job, NULL };
	struct process_entry entry = { .pod = "" };
	const pid_t pid = start(environment);
	const uint64_t deadline_us = clock_mono_us() + USEC_PER_MIN;
	int status;

	/* The kernel says where its environment is a moment after all else of it is new. */
	do {
		CHECK_EQ(process_map_entry(pid, &entry), 0);
	} while (!value(&entry.env, "RANK")[0] && clock_mono_us() < deadline_us);
	CHECK_STR(value(&entry.env, "RANK"), "3");
	CHECK_STR(value(&entry.env, "ASSAY_JOB"), "a");
	CHECK(entry.start_ticks > 0);
	CHECK(entry.age_s >= 0 && entry.age_s < 600);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	/* It has ended, though its number is still taken. */
	CHECK(process_map_entry(pid, &entry) < 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(process_map_entry(pid, &entry) < 0);
}

static void a_pod_is_known_by_its_control_group(void)
{
	static const struct {
		const char *cgroup, *pod;
	} rows[] = {
		{ "0::/kubepods/burstable/pod" UID "/3f\n", UID },
		{ "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-"
		  "pod0f3c5a52_9d2e_4c11_8f6e_d1b2a3c4e5f6.slice/cri-containerd-1.scope\n",
		  UID },
		{ "12:cpu:/a\n11:memory:/../kubepods/pod0F3C5A52-9D2E-4C11-8F6E-D1B2A3C4E5F6\n",
		  UID },
		{ "0::/user.slice/user-0.slice\n", "" },
		{ "0::/pod" UID "0/\n", "" },
		{ "0::/pod0f3c5a52-9d2e-4c11-8f6e\n", "" },
		{ "pod", "" },
		{ "", "" },
	};
	char pod[PROCESS_POD_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		process_map_pod(rows[i].cgroup, pod);
		CHECK_STR(pod, rows[i].pod);
	}
}

static const struct test tests[] = {
	TEST(the_keys_are_where_they_are_asked_for),
	TEST(pieces_of_any_size_say_the_same),
	TEST(only_values_of_their_form_are_kept),
	TEST(a_value_has_at_most_64_bytes),
	TEST(an_entry_that_is_too_long_does_not_spoil_the_next),
	TEST(the_first_of_a_key_counts_and_one_without_an_end_does_not),
	TEST(the_reader_is_empty_in_the_end),
	TEST(a_process_is_read_while_it_lives),
	TEST(a_pod_is_known_by_its_control_group),
};

TEST_SUITE(tests);
