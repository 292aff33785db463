/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/err.h"
#include "probes/accel/accel.h"
#include "probes/rnic_pair/pair.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_run.h"

enum {
	OPT_CONNECT_ONLY = 0x200,
	OPT_SEND,
	OPT_BIDIRECTIONAL,
	OPT_LISTEN,
	OPT_PEER,
	OPT_TOKEN_FILE
};

static const struct argp_option option_table[] = {
	{ "connect-only", OPT_CONNECT_ONLY, NULL, 0,
	  "Only test whether they connect, not how fast they are", 0 },
	{ "send", OPT_SEND, NULL, 0, "Also measure sends and receives: rnic_pair.send_bw", 0 },
	{ "bidirectional", OPT_BIDIRECTIONAL, NULL, 0,
	  "Also measure both directions at once: rnic_pair.bidir_bw", 0 },
	{ NULL, 0, NULL, 0, "With another host, rail by rail:", 2 },
	{ "listen", OPT_LISTEN, "ADDR:PORT", 0,
	  "Wait for the other host there (port 0: any free one, which is printed)", 2 },
	{ "peer", OPT_PEER, "HOST:PORT", 0,
	  "Where the other host listens; it uses the options given here", 2 },
	{ "token-file", OPT_TOKEN_FILE, "FILE", 0,
	  "File with one line, a token shared by both hosts", 2 },
	{ 0 },
};

static void check_peers(const struct pair_options *o, struct argp_state *state)
{
	if (o->listen && o->peer)
		argp_error(state, "--listen and --peer: give one of them: one host listens, the "
				  "other is its peer");
	if ((o->listen || o->peer) && !o->token_file)
		argp_error(state, "--token-file: needed with --listen and --peer");
	if (o->token_file && !o->listen && !o->peer)
		argp_error(state, "--token-file: only with --listen or --peer");
	if ((o->send || o->bidirectional) && (o->listen || o->peer || o->connect_only))
		argp_error(state,
			   "--send, --bidirectional: only for the rates of pairs within one host");
	if (o->cells && (o->listen || o->peer))
		argp_error(state, "--cells: only for pairs within one host");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct pair_options *o = probe->options;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->rdma;
		state->child_inputs[1] = o;
		return 0;
	case OPT_CONNECT_ONLY:
		o->connect_only = true;
		return 0;
	case OPT_SEND:
		o->send = true;
		return 0;
	case OPT_BIDIRECTIONAL:
		o->bidirectional = true;
		return 0;
	case OPT_LISTEN:
		o->listen = arg;
		return 0;
	case OPT_PEER:
		o->peer = arg;
		return 0;
	case OPT_TOKEN_FILE:
		o->token_file = arg;
		return 0;
	case ARGP_KEY_END:
		check_peers(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct probe *probe, struct err *err)
{
	struct pair_options *o = probe->options;

	o->gpus = accel_gpu_present() ? &accel_cuda_copy_ops : NULL;
	return pair_run(probe, rdma_verbs(), err);
}

static const struct probe_check checks[] = {
	{ "rnic_pair.connect", "1", BETTER_NONE,
	  "a dead cable or switch port, a wrong route, VLAN or access list, a smaller MTU on the "
	  "way" },
	{ "rnic_pair.write_bw", "B/s", BETTER_HIGHER,
	  "an RNIC below line rate, a bad cable or transceiver, a congested or wrong route" },
	{ "rnic_pair.write_lat", "s", BETTER_LOWER, "a detour through the fabric, lost packets" },
	{ "rnic_pair.send_bw", "B/s", BETTER_HIGHER,
	  "as for writes, and an RNIC that receives slowly (--send)" },
	{ "rnic_pair.bidir_bw", "B/s", BETTER_HIGHER,
	  "a link or PCIe slot that cannot carry both directions at once (--bidirectional)" },
	{ "rnic_pair.gpu_connect", "1", BETTER_NONE,
	  "the same for GPU memory (--memory gpu), and a setting that keeps RNICs out of it" },
	{ "rnic_pair.gpu_write_bw", "B/s", BETTER_HIGHER,
	  "as for writes, and a detour or slow link between RNIC and GPU (ACS, ATS)" },
	{ "rnic_pair.gpu_write_lat", "s", BETTER_LOWER, "the same" },
	{ "rnic_pair.gpu_send_bw", "B/s", BETTER_HIGHER, "the same for sends (--send)" },
	{ "rnic_pair.gpu_bidir_bw", "B/s", BETTER_HIGHER,
	  "the same for both directions at once (--bidirectional)" },
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
		.name = "rnic-pair",
		.summary = "Measure from each RNIC port to every other over the fabric",
		.active = true,
		.budget_us = 30 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct pair_options options = { .connect_only = false };

	options.rdma = RDMA_OPTIONS_OF(&options);
	return probe_main(&desc, &options, argc, argv);
}
