/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness of a probe: a program that measures and prints one sample a
 * line on stdout (sample/1, lib/report/report.h) and words on stderr.
 *
 *	static const struct probe_desc desc = { .name = "gemm", ... .run = run };
 *	int main(int argc, char **argv) { return probe_main(&desc, argc, argv); }
 *
 * The harness reads the common options (--describe, --budget, --busy, --seed),
 * takes the lock of active probes unless whoever started it holds it
 * (ASSAY_LOCK_HELD=1), keeps the wall clock and maps the result to the exit
 * status: 0 ran, 1 could not run, 2 usage, 77 not applicable here.
 *
 * A sick device is a sample. run() fails only when it could not measure.
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

/* How long after its budget a probe run by hand ends itself. */
#define PROBE_GRACE_US (1 * USEC_PER_SEC)

/* One check that a probe can print: for --describe and `assay list`. */
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
	uint64_t budget_us;  /* default of --budget */
	const struct probe_check *checks;
	size_t n_checks;
	const struct argp *options; /* the probe's own options, or NULL; its input is `probe` */
	/*
	 * Measure and emit. 0; -ENODEV with the reason when there is nothing
	 * to measure here (exit 77); -EINVAL for bad option values (exit 2);
	 * any other negative errno: could not run (exit 1).
	 */
	int (*run)(struct probe *probe, struct err *err);
};

struct probe {
	const struct probe_desc *desc;
	uint64_t budget_us;   /* wall clock it may use */
	bool budget_given;    /* by --budget */
	uint64_t deadline_us; /* the same as a monotonic time */
	bool run_busy;	      /* --busy=run: measure even when others use the device */
	uint64_t seed;	      /* of pseudo-random data; default 1 */
	size_t n_samples;     /* printed so far */
	size_t n_bytes;
	void *options; /* for the probe's own argp: points to its options */
};

/* The whole of main(); `options` (may be NULL) is handed on as probe->options. */
int probe_main(const struct probe_desc *desc, void *options, int argc, char **argv);

/*
 * Print `s` as one line at once and leave it as by sample_init(). -E2BIG
 * past the limits of lib/report/report.h (then nothing is printed); -EPIPE and the
 * like when the reader is gone; -ECANCELED, and nothing is printed, for work
 * that was given up (lib/sys/watched.h): who gave it up has told what there was.
 */
int probe_emit(struct probe *probe, struct sample *s);

/* The same, as what an area of a probe is handed to print with: `probe` is a struct probe. */
int probe_emit_of(void *probe, struct sample *s);

/* Microseconds left of the budget. */
uint64_t probe_left_us(const struct probe *probe);

/*
 * What the probe kept from its last run in $STATE/probe/<name>.json: an object,
 * or an empty one when there is none or it is from another boot (`boot_id`
 * differs) unless `any_boot`. New reference, never NULL.
 */
json_t *probe_load(const struct probe *probe, bool any_boot);

/* Keep `value` (an object; boot_id is added) for the next run. */
int probe_save(const struct probe *probe, json_t *value, struct err *err);
