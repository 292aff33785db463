/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-hang-look: queries about a hung job that may block, because a file system or a driver hangs.
 * Prints one object:
 *
 *	{"rdma_bytes": 123,
 *	 "ranks": [{"rank": 3, "gpu": "gpu 3", "pci": "0000:3b:00.0", "dump": 1795219200.5,
 *	            "nccl": "2.28.9"}],
 *	 "dumps": {"format": "assay-hang/1", ...}, "missing": ["rank 4: ..."]}
 *
 * `dump` is the time when the rank's dump was written, in seconds since 1970. --peek: read no dumps.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agents/assayd/hang_device.h"
#include "agents/assayd/hang_dumps.h"
#include "agents/assayd/hang_sight.h"
#include "agents/assayd/nccl_version.h"
#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_json.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/usage.h"

enum { OPT_PEEK = 0x100, OPT_DUMPS, OPT_READ_DUMP, OPT_NCCL };
enum { RANKS_MAX = PROCESS_MAP_MAX, DECIMAL = 10, FAILED = 1 };

struct process {
	pid_t pid;
	uint64_t start_ticks;
	int64_t rank;
};

struct options {
	bool peek, nccl;
	const char *read_dump; /* rank whose dump to print */
	char *prefixes[HANG_DUMPS_PREFIXES_MAX + 1];
	size_t n_prefixes;
	struct process processes[RANKS_MAX];
	size_t n;
};

const char *argp_program_version = "assay-hang-look " PACKAGE_VERSION;

static const struct argp_option option_table[] = {
	{ "peek", OPT_PEEK, NULL, 0, "List the dumps and do nothing else", 0 },
	{ "nccl", OPT_NCCL, NULL, 0, "Report which version of NCCL each has loaded", 0 },
	{ "dumps", OPT_DUMPS, "PREFIX", 0, "Path of the dumps, without the rank number", 0 },
	{ "read-dump", OPT_READ_DUMP, "RANK", 0,
	  "Read a rank's dump from standard input and do nothing else", 0 },
	{ 0 },
};

/* "PID:START:RANK". */
static bool parse_process(const char *text, struct process *ret)
{
	char *end;

	ret->pid = (pid_t)strtol(text, &end, DECIMAL);
	if (*end != ':' || ret->pid <= 0)
		return false;
	ret->start_ticks = strtoull(end + 1, &end, DECIMAL);
	if (*end != ':')
		return false;
	ret->rank = strtoll(end + 1, &end, DECIMAL);
	return !*end && ret->rank >= 0 && ret->rank < HANG_RANKS_MAX;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_PEEK:
		o->peek = true;
		return 0;
	case OPT_NCCL:
		o->nccl = true;
		return 0;
	case OPT_DUMPS:
		if (o->n_prefixes == HANG_DUMPS_PREFIXES_MAX)
			argp_error(state, "--dumps: more than %d", HANG_DUMPS_PREFIXES_MAX);
		else
			o->prefixes[o->n_prefixes++] = arg;
		return 0;
	case OPT_READ_DUMP:
		o->read_dump = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (o->n == RANKS_MAX || !parse_process(arg, &o->processes[o->n]))
			argp_error(state, "'%.80s': expected PID:START:RANK, %d at most", arg,
				   RANKS_MAX);
		else
			o->n++;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Start time of a process, in seconds since 1970. */
static double began(uint64_t start_ticks)
{
	const double hz = (double)MAX(sysconf(_SC_CLK_TCK), 1L);
	const double age_s = (double)clock_boot_us() / USEC_PER_SEC - (double)start_ticks / hz;

	return (double)clock_real_us() / USEC_PER_SEC - age_s;
}

static void say_missing(json_t *answer, int64_t rank, const char *why)
{
	CLEANUP(freep)
	char *line = xasprintf("rank %" PRId64 ": flight recorder: %s", rank, why);

	(void)json_array_append_new(json_object_get(answer, "missing"), json_string(line));
}

static void tell_gpu(json_t *rank, int proc_fd)
{
	const int gpu = hang_device_gpu(proc_fd);
	char pci[PCI_ADDRESS_SIZE];

	if (gpu < 0)
		return;
	(void)json_object_set_new(rank, "gpu", json_sprintf("gpu %d", gpu));
	if (hang_device_pci(gpu, pci))
		(void)json_object_set_new(rank, "pci", json_string(pci));
}

/* For the last rank in the answer. */
static void tell_dump(const struct options *o, const struct hang_dumps_rank *of,
		      struct hang_case *dumps, json_t *answer)
{
	json_t *ranks = json_object_get(answer, "ranks");
	json_t *rank = json_array_get(ranks, json_array_size(ranks) - 1);
	struct err err = ERR_INIT;
	struct stat st = { .st_size = 0 };
	CLEANUP(closep) int fd = hang_dumps_open(of, o->prefixes, &st, &err);

	if (fd < 0 && fd != -ENOENT)
		say_missing(answer, of->rank, err.msg);
	if (fd < 0)
		return;
	(void)json_object_set_new(
		rank, "dump",
		json_real((double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec * 1e-9));
	if (!o->peek && hang_dumps_add(dumps, fd, of, &err) < 0)
		say_missing(answer, of->rank, err.msg);
}

static void tell_process(const struct options *o, const struct process *p, struct hang_case *dumps,
			 json_t *answer)
{
	CLEANUP(closep) int proc_fd = hang_sight_open(p->pid, p->start_ticks);
	struct hang_dumps_rank of = { .rank = p->rank,
				      .proc_fd = proc_fd,
				      .began_s = began(p->start_ticks) };
	json_t *rank = json_pack("{s:I}", "rank", (json_int_t)p->rank);
	char nccl[NCCL_VERSION_SIZE];
	struct stat st;

	(void)json_array_append_new(json_object_get(answer, "ranks"), rank);
	if (proc_fd < 0 || fstat(proc_fd, &st) < 0)
		return;
	of.uid = st.st_uid;
	tell_gpu(rank, proc_fd);
	if (o->nccl && nccl_version_of("/proc", p->pid, nccl) == 0)
		(void)json_object_set_new(rank, "nccl", json_string(nccl));
	tell_dump(o, &of, dumps, answer);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.args_doc = "PID:START:RANK...",
		.doc = "Reports what the devices and files of a hung job show (for assayd).",
	};
	static struct options o;
	CLEANUP(hang_case_release) struct hang_case dumps = { .ranks = NULL };
	const struct hang_head head = { .run = HANG_UNKNOWN, .age_s = NAN };
	CLEANUP(json_freep) json_t *answer = json_pack("{s:[], s:[]}", "ranks", "missing");
	uint64_t bytes;
	size_t i;

	argp_err_exit_status = 2;
	(void)usage_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.read_dump)
		return hang_dumps_print(o.read_dump);
	if (!o.peek && hang_device_rdma_bytes(&bytes))
		(void)json_object_set_new(answer, "rdma_bytes", json_integer((json_int_t)bytes));
	for (i = 0; i < o.n; i++)
		tell_process(&o, &o.processes[i], &dumps, answer);
	if (!o.peek)
		(void)json_object_set_new(answer, "dumps", hang_json_encode(&dumps, &head));
	return json_dumpf(answer, stdout, JSON_COMPACT) < 0 || fflush(stdout) ? FAILED : 0;
}
