/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates traces of simulated jobs, for tests:
 *
 *	generate INJECTION SEED [dp=N] [pp=N] [mb=N] [vpp=N] [tp=N] [steps=N] [truth=FILE]
 *	         [csv=META.yaml] [epoch=SECONDS] [together=1]
 *	generate list
 *
 * Writes the trace to standard output, and what attribution must find in it to `truth`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/attribution/inject.h"

enum { NS = 1000000000, LINE_SIZE = 512, BUFFER = 1 << 20 };

static const char *const names[JOB_TYPES] = {
	"forward-compute",
	"backward-compute",
	"forward-send",
	"backward-send",
	"forward-recv",
	"backward-recv",
	"params-all-gather",
	"grads-reduce-scatter",
	"layernorm-grads-all-reduce",
	"embedding-grads-all-reduce",
	"optimizer-clip-main-grad",
	"optimizer",
	"gc",
};

struct options {
	struct job sizes;
	const char *truth, *csv;
	long long epoch; /* offset of the first step, in seconds */
	bool together;	 /* see job.h */
};

static char *put_text(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static char *put_number(char *to, int64_t value, int digits)
{
	char text[24];
	int n = 0;

	if (value < 0) {
		*to++ = '-';
		value = -value;
	}
	while (n < digits || value > 0) {
		text[n++] = (char)('0' + value % 10);
		value /= 10;
	}
	while (n > 0)
		*to++ = text[--n];
	return to;
}

static char *put_seconds(char *to, int64_t ns)
{
	if (ns < 0)
		*to++ = '-';
	to = put_number(to, llabs(ns) / NS, 1);
	*to++ = '.';
	return put_number(to, llabs(ns) % NS, 9);
}

/* Writes the eleven values in the order of the published columns. */
static char *put_op(char *to, const struct job *job, const struct job_op *op, int64_t shift,
		    bool json)
{
	static const char *const keys[] = {
		"{\"step\":",	  ",\"dp_rank\":",  ",\"stage\":",    ",\"rank\":",
		",\"optype\":\"", "\",\"seq_id\":", ",\"mb_id\":",    ",\"mc\":",
		",\"gmc\":",	  ",\"start_ts\":", ",\"duration\":",
	};
	const int64_t values[] = {
		job->first_step + op->step * job->step_gap,
		op->d,
		op->p,
		job_rank(job, op->d, op->p),
		0,
		op->seq,
		op->mb,
		op->mc,
		op->mb >= 0 && op->mc >= 0 ? op->mc * job->pp + op->p : -1,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		to = put_text(to, json ? keys[i] : i ? "," : "");
		if (i == 4)
			to = put_text(to, names[op->type]);
		else if (i < ARRAY_SIZE(values))
			to = put_number(to, values[i], 1);
		else
			to = put_seconds(to, i == ARRAY_SIZE(values) ? op->start + shift
								     : op->end - op->start);
	}
	return put_text(to, json ? "}\n" : "\n");
}

static void print_meta(const struct job *job, const char *name)
{
	int d, p;

	printf("{\"type\":\"meta\",\"format\":\"optrace/"
	       "1\",\"job\":\"%s\",\"dp_size\":%d,\"pp_size\":%d,"
	       "\"tp_size\":%d,\"vpp_size\":%d,\"dsp_size\":1,\"world_size\":%d,\"microbatches\":%"
	       "d,"
	       "\"time_unit\":\"s\",\"ranks\":[",
	       name, job->dp, job->pp, job->tp, job->vpp, job->dp * job->pp * job->tp, job->mb);
	for (d = 0; d < job->dp; d++) {
		for (p = 0; p < job->pp; p++)
			printf("%s{\"rank\":%d,\"dp_rank\":%d,\"stage\":%d,\"node\":\"n%03d\"}",
			       d + p ? "," : "", job_rank(job, d, p), d, p, job_node(job, d, p));
	}
	printf("]}\n");
}

static int write_yaml(const struct job *job, const char *name, const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return -errno;
	fprintf(out,
		"trial_name: %s\nrun_id: 0\ndp_size: %d\ndsp_size: 1\npp_size: %d\ntp_size: %d\n"
		"vpp_size: %d\nworld_size: %d\n",
		name, job->dp, job->pp, job->tp, job->vpp, job->dp * job->pp * job->tp);
	printf("step,dp_rank,stage,rank,optype,seq_id,mb_id,mc,gmc,start_ts,duration\n");
	return fclose(out) ? -errno : 0;
}

static int write_steps(const struct job *job, const struct options *options)
{
	CLEANUP(freep) struct job_op *ops = xcalloc(job_ops_max(job), sizeof(*ops));
	CLEANUP(freep) char *buffer = xcalloc(1, BUFFER + LINE_SIZE);
	char *to = buffer;
	int64_t shift = options->epoch * NS;
	size_t n, i;
	int step;

	for (step = 0; step < job->steps; step++) {
		n = job_play(job, step, ops);
		for (i = 0; i < n; i++) {
			to = put_op(to, job, &ops[i], shift, !options->csv);
			if (to - buffer < BUFFER)
				continue;
			if (fwrite(buffer, (size_t)(to - buffer), 1, stdout) != 1)
				return -EIO;
			to = buffer;
		}
		shift += options->epoch ? 20ll * NS : 0;
	}
	(void)fwrite(buffer, 1, (size_t)(to - buffer), stdout);
	return fflush(stdout) ? -errno : 0;
}

static bool take_option(const char *text, struct options *options)
{
	struct job *job = &options->sizes;
	const struct {
		const char *name;
		int *value;
	} sizes[] = { { "dp=", &job->dp },   { "pp=", &job->pp }, { "mb=", &job->mb },
		      { "vpp=", &job->vpp }, { "tp=", &job->tp }, { "steps=", &job->steps } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (starts_with(text, sizes[i].name)) {
			*sizes[i].value = (int)strtol(text + strlen(sizes[i].name), NULL, 10);
			return *sizes[i].value > 0;
		}
	}
	if (starts_with(text, "truth="))
		options->truth = text + 6;
	else if (starts_with(text, "csv="))
		options->csv = text + 4;
	else if (starts_with(text, "epoch="))
		options->epoch = strtoll(text + 6, NULL, 10);
	else if (streq(text, "together=1"))
		options->together = true;
	else
		return false;
	return true;
}

static int generate(const struct injection *injection, uint64_t seed, const struct options *options)
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	FILE *truth;

	injection_job(injection, &options->sizes, seed, job);
	job->together = options->together;
	if (options->truth) {
		truth = fopen(options->truth, "we");
		if (!truth)
			return -errno;
		injection_truth(injection, job, truth);
		if (fclose(truth))
			return -errno;
	}
	if (!options->csv)
		print_meta(job, injection->name);
	else if (write_yaml(job, injection->name, options->csv) < 0)
		return -errno;
	return write_steps(job, options);
}

int main(int argc, char **argv)
{
	const struct injection *injection = argc >= 3 ? injection_find(argv[1]) : NULL;
	CLEANUP(freep) struct options *options = xcalloc(1, sizeof(*options));
	int i, r;

	if (argc == 2 && streq(argv[1], "list")) {
		for (i = 0; i < n_injections; i++)
			printf("%s\n", injections[i].name);
		return 0;
	}
	for (i = 3; injection && i < argc; i++) {
		if (!take_option(argv[i], options))
			injection = NULL;
	}
	if (!injection) {
		fprintf(stderr, "usage: generate INJECTION SEED [NAME=VALUE]... | list\n");
		return 2;
	}
	r = generate(injection, strtoull(argv[2], NULL, 10), options);
	if (r < 0)
		fprintf(stderr, "generate: %s\n", strerror(-r));
	return r < 0;
}
