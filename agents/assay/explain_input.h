/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of `assay explain`: samples and, as far as available, the host they come from, its
 * verdict and its topology. Taken from a run that just ended, or from a file.
 */
#pragma once

#include "agents/run/sample_file.h"
#include "lib/judge/localise.h"
#include "lib/judge/verdict.h"
#include "lib/report/host_parts.h"
#include "lib/topology/topology.h"

struct err;
struct run;

struct explain_input {
	struct sample_list samples;  /* borrowed from `file` or the run */
	struct verdict verdict;	     /* of the file, else from judging the samples */
	struct topology topology;    /* no nodes: unknown */
	char *node, *time, *profile; /* NULL: unknown */
	struct sample_file file;
	struct host_parts parts; /* names of the host's parts */
};

/*
 * Read `path`, or stdin for "-", as sample_file_read() does. The topology is the one in the file,
 * or else this host's if the report's digest matches it.
 */
int explain_input_read(const char *path, struct explain_input *ret, struct err *err);

/* Use a run made by run_make(); borrows its samples and takes over its verdict. */
void explain_input_take(struct run *run, struct explain_input *ret);

void explain_input_release(struct explain_input *in);
