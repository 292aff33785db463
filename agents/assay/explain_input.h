/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `assay explain` explains: samples, and as much as there is beside them of the host
 * they are of, the verdict on it, and its topology. From a run that just ended, or a file.
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
	struct sample_list samples;  /* borrows `file`, or the run */
	struct verdict verdict;	     /* of the file, else as its samples judge each other */
	struct topology topology;    /* no nodes: not known */
	char *node, *time, *profile; /* NULL: not told */
	struct sample_file file;
	struct host_parts parts; /* what those of the host are called */
};

/*
 * Read `path`, or standard input for "-", as sample_file_read() does. The topology is the
 * one in the file, else that of this host when the report says that it is the same.
 */
int explain_input_read(const char *path, struct explain_input *ret, struct err *err);

/* From a run that run_make() made; borrows its samples, takes its verdict. */
void explain_input_take(struct run *run, struct explain_input *ret);

void explain_input_release(struct explain_input *in);
