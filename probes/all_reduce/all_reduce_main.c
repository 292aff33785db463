/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "probes/accel/accel.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_run.h"
#include "probes/rnic_pair/pair_gpu.h"

enum { OPT_PEERS = 0x200, OPT_RANK, OPT_TOKEN_FILE, OPT_FORCE, OPT_ENGINE, DECIMAL = 10 };

static const struct argp_option option_table[] = {
	{ "peers", OPT_PEERS, "HOST:PORT,...", 0, "All hosts, in rank order; rank 0 listens", 0 },
	{ "rank", OPT_RANK, "N", 0, "The rank of this host, counting from 0", 0 },
	{ "token-file", OPT_TOKEN_FILE, "FILE", 0,
	  "A token shared by all, then a line \"passed HOST:PORT\" for each host that passed", 0 },
	{ "engine", OPT_ENGINE, "verbs|nccl", 0,
	  "What moves the data: a ring of its own over verbs (default), or NCCL, as in jobs, "
	  "between "
	  "GPUs (--memory gpu)",
	  0 },
	{ "force", OPT_FORCE, NULL, 0, "Include hosts that are not known to have passed", 0 },
	{ 0 },
};

static void set_rank(struct reduce_options *o, const char *arg, struct argp_state *state)
{
	char *end;
	const unsigned long rank = strtoul(arg, &end, DECIMAL);

	if (end == arg || *end || rank >= COLL_RANKS_MAX)
		argp_error(state, "--rank: expected 0 to %d", COLL_RANKS_MAX - 1);
	o->rank = (unsigned)rank;
	o->rank_given = true;
}

static void set_engine(struct reduce_options *o, const char *arg, struct argp_state *state)
{
	int i = 0;

	while (reduce_engine_names[i] && !streq(arg, reduce_engine_names[i]))
		i++;
	if (!reduce_engine_names[i])
		argp_error(state, "--engine: '%.40s' is neither verbs nor nccl", arg);
	o->engine = i;
	o->pair.ports_only = i == REDUCE_NCCL;
}

static void check_parsed(const struct reduce_options *o, struct argp_state *state)
{
	if (o->pair.cells)
		argp_error(state, "--cells: not supported here: all rails are measured");
	if (o->engine == REDUCE_NCCL && o->pair.memory != PAIR_MEMORY_GPU)
		argp_error(state, "--engine nccl: needs --memory gpu");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct reduce_options *o = probe->options;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->pair.rdma;
		state->child_inputs[1] = &o->pair;
		return 0;
	case OPT_PEERS:
		o->peers = arg;
		return 0;
	case OPT_RANK:
		set_rank(o, arg, state);
		return 0;
	case OPT_TOKEN_FILE:
		o->pair.token_file = arg;
		return 0;
	case OPT_FORCE:
		o->force = true;
		return 0;
	case OPT_ENGINE:
		set_engine(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_parsed(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct probe *probe, struct err *err)
{
	struct reduce_options *o = probe->options;

	if (!o->peers || !o->rank_given || !o->pair.token_file)
		return err_set(err, EINVAL, "--peers, --rank and --token-file are all needed");
	/* Open the ports of this host, but make no pairs among them. */
	o->pair.peer = o->peers;
	o->pair.gpus = accel_gpu_present() ? &accel_cuda_copy_ops : NULL;
	return reduce_run(probe, rdma_verbs(), err);
}

static const struct probe_check checks[] = {
	{ "all_reduce.busbw", "B/s", BETTER_HIGHER,
	  "a slow host, port or switch among neighbours: all run at the pace of the slowest" },
	{ "all_reduce.link_bw", "B/s", BETTER_HIGHER,
	  "the link from this host to the next one in the ring, whatever the others do" },
	{ "all_reduce.skew", "s", BETTER_LOWER, "a host that is late for every operation" },
	{ "all_reduce.correct", "1", BETTER_HIGHER, "wrong data from the fabric or a host" },
	{ "all_reduce.gpu_busbw", "B/s", BETTER_HIGHER,
	  "the same between GPU memories, without sums (--memory gpu), and a slow path from "
	  "RNIC "
	  "to GPU" },
	{ "all_reduce.gpu_link_bw", "B/s", BETTER_HIGHER, "the same for the link to the next host" },
	{ "all_reduce.gpu_skew", "s", BETTER_LOWER, "a host that is late for every operation" },
	{ "all_reduce.gpu_correct", "1", BETTER_HIGHER, "wrong data in a GPU's memory" },
	{ "all_reduce.nccl_busbw", "B/s", BETTER_HIGHER,
	  "the same by NCCL, as in jobs (--engine nccl), with sums: what jobs get of the fabric" },
	{ "all_reduce.nccl_skew", "s", BETTER_LOWER, "a host that is late for every operation" },
	{ "all_reduce.nccl_correct", "1", BETTER_HIGHER, "wrong sums of NCCL" },
};

int main(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rdma_options_argp, 0, NULL, 0 },
						      { &pair_memory_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { .options = option_table,
					  .parser = parse_option,
					  .children = children };
	static const struct probe_desc desc = {
		.name = "all-reduce",
		.summary = "Measure an all-reduce with neighbouring hosts over the fabric",
		.active = true,
		.budget_us = 60 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct reduce_options options = { .force = false };

	options.pair.rdma = RDMA_OPTIONS_OF(&options.pair);
	return probe_main(&desc, &options, argc, argv);
}
