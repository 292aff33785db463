/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness of a probe: a program that measures, and prints one sample per line on stdout
 * (sample/1, lib/report/report.h) and messages on stderr.
 *
 *	static const struct probe_desc desc = { .name = "gemm", ... .run = run };
 *	int main(int argc, char **argv) { return probe_main(&desc, argc, argv); }
 *
 * The harness parses the common options (--describe, --budget, --busy, --seed), takes the lock of
 * active probes unless its parent holds it (ASSAY_LOCK_HELD=1), enforces the wall-clock limit, and
 * maps the result to the exit status: 0 ran, 1 could not run, 2 usage, 77 not applicable here.
 *
 * A faulty device is a sample. run() only fails if it could not measure.
 */
#pragma once

#include <argp.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/report/report.h"

struct err;
struct probe;

enum {
	PROBE_RAN = 0,
	PROBE_COULD_NOT = 1,
	PROBE_USAGE = 2,
	PROBE_NOT_APPLICABLE = 77,
};

/* How long past its budget a probe terminates itself, when run by hand. */
#define PROBE_GRACE_US (1 * USEC_PER_SEC)

/* A check that a probe can emit: for --describe and `assay list`. */
struct probe_check {
	const char *name;  /* "gemm.rate" */
	const char *unit;  /* "FLOP/s" */
	int better;	   /* enum sample_better */
	const char *finds; /* what a bad value means, in one line */
};

struct probe_desc {
	const char *name;    /* "gemm": the program is assay-probe-gemm */
	const char *summary; /* one line */
	bool active;	     /* loads devices: runs alone, under the lock */
	uint64_t budget_us;  /* default for --budget */
	const struct probe_check *checks;
	size_t n_checks;
	const struct argp *options; /* the probe's own options, or NULL; its input is `probe` */
	/*
	 * Measure and emit. Returns 0; -ENODEV with the reason if there is nothing to measure here
	 * (exit 77); -EINVAL for invalid option values (exit 2); any other negative errno if it
	 * could not run (exit 1).
	 */
	int (*run)(struct probe *probe, struct err *err);
};

struct probe {
	const struct probe_desc *desc;
	uint64_t budget_us;   /* wall-clock limit */
	bool budget_given;    /* by --budget */
	uint64_t deadline_us; /* the end of the budget, monotonic */
	bool run_busy;	      /* --busy=run: measure even if others use the device */
	uint64_t seed;	      /* of pseudo-random data; default 1 */
	size_t n_samples;     /* printed so far */
	size_t n_bytes;
	void *options; /* for the probe's own argp: points to its options */
};

/* All of main(). `options` (may be NULL) becomes probe->options. */
int probe_main(const struct probe_desc *desc, void *options, int argc, char **argv);

/*
 * Print `s` as one line immediately and leave it as by sample_init(). Nothing is printed on -E2BIG
 * (over the limits of lib/report/report.h) and on -ECANCELED (this work was given up, see
 * lib/sys/watched.h, and reported by whoever gave it up). -EPIPE and similar if the reader is gone.
 */
int probe_emit(struct probe *probe, struct sample *s);

/* The same with the signature of an area's `emit`: `probe` is a struct probe. */
int probe_emit_of(void *probe, struct sample *s);

/* Microseconds left in the budget. */
uint64_t probe_left_us(const struct probe *probe);

/*
 * Load what the last run saved in $STATE/probe/<name>.json: an object, empty if there is none or if
 * it is from another boot (`boot_id` differs) and `any_boot` is false. Returns a new reference,
 * never NULL.
 */
json_t *probe_load(const struct probe *probe, bool any_boot);

/* Save `value` (an object; boot_id is added) for the next run. */
int probe_save(const struct probe *probe, json_t *value, struct err *err);
