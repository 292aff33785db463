/* SPDX-License-Identifier: Apache-2.0 */
/* assay topology: the components of this host and the speed of its links. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assay/commands.h"
#include "agents/assay/topology_draw.h"
#include "agents/assay/topology_matrix.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"
#include "lib/topology/topology.h"

enum { STATUS_USAGE = 2, STATUS_UNSURE = 3, OPT_FROM = 0x100, OPT_MATRIX };

struct topology_options {
	const char *from;
	enum output output;
	bool matrix;
	struct err err;
};

static const struct argp_option option_table[] = {
	{ "from", OPT_FROM, "FILE", 0, "hwloc XML, or topology/1 JSON (*.json), of another host",
	  0 },
	{ "matrix", OPT_MATRIX, NULL, 0,
	  "How close GPUs and RNICs are to each other, as in nvidia-smi topo -m", 0 },
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct topology_options *o = state->input;

	switch (key) {
	case OPT_FROM:
		o->from = arg;
		return 0;
	case OPT_MATRIX:
		o->matrix = true;
		return 0;
	case 'o':
		return -output_option(arg, &o->output, &o->err);
	case ARGP_KEY_ARG:
		return -err_set(&o->err, EINVAL, "'%.80s': takes no arguments; see --help", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* In the C library's order of precedence. */
static bool speaks_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(variables) && (!value || !*value); i++)
		value = getenv(variables[i]);
	return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

static void show(const struct topology *t, const struct topology_options *o)
{
	CLEANUP(json_freep) json_t *value = topology_encode(t);
	struct topology_draw how = { .colour = term_wants_colour(stdout), .utf8 = speaks_utf8() };

	if (o->output != OUTPUT_TABLE)
		command_print(value, o->output);
	else if (o->matrix)
		topology_matrix(t, how.colour, stdout);
	else
		topology_draw(t, &how, stdout);
}

int cmd_topology(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.doc = "Shows the NUMA nodes, GPUs, RNICs and PCIe switches of this host, and the "
		       "speed "
		       "of their links compared with what both ends support.\vASSAY_TOPOLOGY names "
		       "a file "
		       "to read instead of this host. Exit status: 0 done, 2 usage or bad input, 3 "
		       "could not tell.",
	};
	struct topology_options o = { .output = OUTPUT_TABLE, .err = ERR_INIT };
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	int r;

	if (usage_parse(&argp, argc, argv, 0, NULL, &o) != 0) {
		command_complain("assay topology", &o.err);
		return STATUS_USAGE;
	}
	r = o.from ? topology_from_file(o.from, &t, &o.err) : topology_load(&t, &o.err);
	if (r < 0) {
		command_complain("assay topology", &o.err);
		return r == -ENOTSUP ? STATUS_UNSURE : STATUS_USAGE;
	}
	show(&t, &o);
	return command_written();
}
