/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $CONF/assayd.yaml (docs/assayd.md). Defaults < environment < file.
 * The strict decoder, with its complaints about `FILE: path.to.key`, is here;
 * the parser is agents/assayd/yaml_child.h.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/schedule.h"
#include "lib/base/macro.h"

struct err;
struct jval;

/* Ports, both ends included. */
struct port_range {
	unsigned first, last;
};

struct assayd_config {
	char *controller; /* URL without a slash at its end */
	char *node;
	bool controller_set, node_set, token_set; /* by the environment, not by the file */
	char *token_file;
	char *ca, *cert, *key; /* PEM files */
	uint64_t orders_wait_us;
	uint64_t retry_base_us;
	uint64_t retry_max_us;
	uint64_t deep_max_us;
	bool collectives;	    /* tests with other hosts are allowed */
	struct port_range ports;    /* where one of them may listen for the others */
	uint64_t collective_max_us; /* such a test ends by then */
	bool watch_links, watch_kernel_log;
	uint64_t schedule_us[SCHEDULE_TURNS]; /* periods; 0: somebody else starts the runs */
	char **trace_dirs;		      /* followed; NULL: none */
	int trace_converter;		      /* enum trace_converter_tool */
	uint64_t trace_keep_bytes;	      /* of parts that wait for the controller */
	char **trace_logs;		      /* globs of logs of jobs; NULL: none is read */
	char *trace_patterns;	 /* what is looked for in them; NULL: policies/job-log.yaml */
	int rings_mode;		 /* enum rings_mode */
	uint64_t rings_steps;	 /* of a sample */
	uint64_t rings_every_us; /* from the begin of one sample to the next */
	uint64_t rings_of_process, rings_of_user; /* how many are held */
	uint64_t rings_bytes;			  /* of all of them */
	uint64_t rings_hold_us;			  /* after the end of their process */
	int hang_ras,
		hang_pyspy; /* enum assayd_config_switch: what touches a job that stands still */
	char **hang_dumps;  /* prefixes of dumps (hang_dumps.h); NULL: the usual ones */
	char *hang_ras_address; /* "ADDRESS:PORT"; NULL: where NCCL listens unless told otherwise */
	char *hang_pyspy_path;	/* NULL: found in PATH */
};

enum assayd_config_switch { ASSAYD_OFF, ASSAYD_ON };

/* What of jobs that have loaded the NCCL plug-in is recorded; in the order of their names. */
enum rings_mode { RINGS_OFF, RINGS_SAMPLE, RINGS_ON };

/* What writes the files there; in the order of their names. */
enum trace_converter_tool { TRACE_TOOL_PYTORCH, TRACE_TOOL_NDTIMELINE, TRACE_TOOL_NONE };

/*
 * Decode the file's value. What is not there has its default; nothing is
 * missing yet. -EINVAL with the place.
 */
int assayd_config_decode(const struct jval *root, struct assayd_config *ret, struct err *err);

/*
 * Read the file (NULL: $CONF/assayd.yaml, which may be absent) and the
 * environment, and check that it is enough to start. `path` is for sentences too.
 */
int assayd_config_read(const char *path, struct assayd_config *ret, struct err *err);

/*
 * Can the files that say who we are be read? -EINVAL with the first that cannot. For --check, and
 * before new certificates are used.
 */
int assayd_config_check_files(const struct assayd_config *c, struct err *err);

/* Are the patterns that logs of jobs are searched for well-formed? -EINVAL and others. For --check. */
int assayd_config_check_patterns(const struct assayd_config *c, struct err *err);

void assayd_config_release(struct assayd_config *c);
