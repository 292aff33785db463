/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $CONF/assayd.yaml (docs/assayd.md). Precedence: defaults < environment < file. This file is the
 * strict decoder, whose errors begin with `FILE: path.to.key`; the parser is
 * agents/assayd/yaml_child.h.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/schedule.h"
#include "lib/base/macro.h"

struct err;
struct jval;

/* Ports, inclusive. */
struct port_range {
	unsigned first, last;
};

struct assayd_config {
	char *controller; /* URL without a trailing slash */
	char *node;
	bool controller_set, node_set, token_set; /* from the environment, not the file */
	char *token_file;
	char *ca, *cert, *key; /* PEM files */
	uint64_t orders_wait_us;
	uint64_t retry_base_us;
	uint64_t retry_max_us;
	uint64_t deep_max_us;
	bool collectives;	    /* tests with other hosts are allowed */
	struct port_range ports;    /* where such a test may listen */
	uint64_t collective_max_us; /* time limit of such a test */
	bool watch_links, watch_kernel_log;
	uint64_t schedule_us[SCHEDULE_TURNS]; /* periods; 0: started by others */
	char **trace_dirs;		      /* to follow; NULL: none */
	int trace_converter;		      /* enum trace_converter_tool */
	uint64_t trace_keep_bytes;	      /* of parts that wait for upload */
	char **trace_logs;		      /* globs of job logs; NULL: none */
	char *trace_patterns;		      /* to search them for; NULL: policies/job-log.yaml */
	int rings_mode;			      /* enum rings_mode */
	uint64_t rings_steps;		      /* per sample */
	uint64_t rings_every_us;	      /* from the start of one sample to the next */
	uint64_t rings_of_process, rings_of_user; /* rings held at most */
	uint64_t rings_bytes;			  /* of all rings together */
	uint64_t rings_hold_us;			  /* after their process has ended */
	int hang_ras, hang_pyspy; /* enum assayd_config_switch: what touches a hung job */
	char **hang_dumps;	  /* prefixes of dumps (hang_dumps.h); NULL: the default ones */
	char *hang_ras_address;	  /* "ADDRESS:PORT"; NULL: NCCL's default */
	char *hang_pyspy_path;	  /* NULL: found in PATH */
};

enum assayd_config_switch { ASSAYD_OFF, ASSAYD_ON };

/* What is recorded of jobs that have loaded the NCCL plug-in; in the order of their names. */
enum rings_mode { RINGS_OFF, RINGS_SAMPLE, RINGS_ON };

/* Which tool writes the trace files; in the order of their names. */
enum trace_converter_tool { TRACE_TOOL_PYTORCH, TRACE_TOOL_NDTIMELINE, TRACE_TOOL_NONE };

/*
 * Decode the parsed file. Absent keys get their defaults; no key is required yet. -EINVAL with
 * the place.
 */
int assayd_config_decode(const struct jval *root, struct assayd_config *ret, struct err *err);

/*
 * Read the file (NULL: $CONF/assayd.yaml, which may be absent) and the environment, and check
 * that they suffice to start. `path` also appears in messages.
 */
int assayd_config_read(const char *path, struct assayd_config *ret, struct err *err);

/*
 * Check that the files of our identity can be read. -EINVAL naming the first that cannot. For
 * --check, and before new certificates are used.
 */
int assayd_config_check_files(const struct assayd_config *c, struct err *err);

/* Check that the patterns for job logs are well-formed. -EINVAL and others. For --check. */
int assayd_config_check_patterns(const struct assayd_config *c, struct err *err);

void assayd_config_release(struct assayd_config *c);
