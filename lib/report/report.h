/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs say to each other: sample/1 (one measured fact, printed by
 * a probe as one JSON line), problem (work that was not done) and report/1
 * (what one run of a profile on one node brought). Formats: docs/formats.md.
 *
 * A sick device is a sample (value low, ok false). A problem is only ever
 * about the probing itself, and can never condemn a device.
 *
 * All strings are owned by their struct, unless it was read by report_read().
 * Readers ignore unknown keys.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/pool.h"
#include "lib/json/json.h"

enum {
	SAMPLE_LINE_MAX = 64 * 1024,	    /* bytes of one sample line */
	SAMPLE_COUNT_MAX = 4096,	    /* samples of one probe and of one report */
	PROBE_OUTPUT_MAX = 4 * 1024 * 1024, /* bytes a probe may print */
	REPORT_MAX = 2 * 1024 * 1024,	    /* bytes of one encoded report */
	SAMPLE_WINDOWS_MIN = 8,		    /* sub-windows of a rate, when it has any */
	SAMPLE_WINDOWS_MAX = 32,
	PROBLEM_TEXT_MAX = 4096,       /* bytes kept of detail and of stderr */
	PROFILE_NAME_MAX = 64,	       /* bytes of a profile's name: it becomes a file name */
	RUN_SECONDS_MAX = 366 * 86400, /* of a run or a sample: a year is no test of a host */
};

/* What assayd sees between runs: it says nothing of all that it does not watch. */
#define PROFILE_WATCH "watch"
/* What a person picked by hand: another run of it may have other probes. */
#define PROFILE_HAND_PICKED "probes"

/* Does a run of this profile load the devices? */
bool profile_is_active(const char *profile);

enum sample_state {
	SAMPLE_MEASURED,
	SAMPLE_BUSY,		/* somebody else uses the device: never slow */
	SAMPLE_FOREIGN_TRAFFIC, /* somebody else's bytes were seen on the port */
	SAMPLE_SET_UP,		/* permission, GID, library: not the device's fault */
	SAMPLE_TIMEOUT,
	SAMPLE_ABORTED, /* a job arrived, the probe gave way */
};

enum sample_better { BETTER_HIGHER, BETTER_LOWER, BETTER_NONE };

/* How much a false `ok` weighs. Not said (left out) means fail. */
enum severity { SEVERITY_FAIL, SEVERITY_INFO, SEVERITY_WARN, SEVERITY_FATAL };

enum tristate { TRI_UNKNOWN = -1, TRI_NO = 0, TRI_YES = 1 };

struct jmemo;

struct sample {
	char *check;	 /* "gemm.rate": a family, a dot, what is measured */
	char *subject;	 /* "cpu:3", "mlx5_0:1>gpu:GPU-...": canonical text */
	double value;	 /* in `unit`; NAN unless measured */
	char *unit;	 /* "B/s", "s", "FLOP/s" or "1" */
	int better;	 /* enum sample_better */
	int ok;		 /* enum tristate; what the probe itself can tell */
	int state;	 /* enum sample_state */
	char *from, *to; /* ends of a path, as node ids of the topology */
	char *locality;	 /* "class": self pix pxb phb node sys virtual */
	char **path;	 /* link ids from..to, or NULL */
	json_t *params;	 /* object: all that must be equal to compare two samples */
	/* Of report_read(): `params` as canonical text; else NULL, though there may be params. */
	const char *params_text;
	char **with;			   /* nodes or subjects measured together, or NULL */
	char *code;			   /* machine-readable detail, as "xid:79" */
	uint64_t n;			   /* measurements behind `value`; 0: not counted */
	double min, max, stddev, p50, p99; /* NAN when absent */
	struct jreals w;		   /* sub-window values, 8 to 32 */
	double start;			   /* UNIX time in seconds, NAN when absent */
	double seconds;			   /* how long it measured, NAN when absent */
	int severity;			   /* enum severity; counts when ok is false */
	char *note;			   /* one sentence for people */
	json_t *parts;			   /* what its subject is called: host_parts.h, or NULL */
};

enum problem_code {
	PROBLEM_TIMEOUT,	/* killed at the end of its budget */
	PROBLEM_CRASHED,	/* died by a signal */
	PROBLEM_EXIT,		/* exit status other than 0, 2, 77 */
	PROBLEM_GARBAGE,	/* printed what is no sample */
	PROBLEM_TOO_MUCH,	/* printed past a limit */
	PROBLEM_EMPTY,		/* exit 0 without one sample */
	PROBLEM_NOT_EXECUTABLE, /* could not be started */
	PROBLEM_NOT_APPLICABLE, /* exit 77: nothing to measure here */
	PROBLEM_SET_UP,		/* exit 2, or the runner could not prepare it */
	PROBLEM_BUSY,		/* another run holds the lock of active probes */
};

struct problem {
	char *probe;	/* "gemm" */
	int code;	/* enum problem_code */
	char *detail;	/* one sentence */
	char *err_tail; /* "stderr": last lines of its stderr, or NULL */
};

struct report {
	char *node;	 /* host name, or Kubernetes node name */
	char *boot_id;	 /* /proc/sys/kernel/random/boot_id */
	uint64_t seq;	 /* from 1, never twice in one state directory; 0: not numbered */
	char *time;	 /* RFC 3339 UTC, start of the run */
	char *profile;	 /* "passive", "quick", "full", PROFILE_WATCH, PROFILE_HAND_PICKED */
	char *agent;	 /* version of this program */
	char *sku;	 /* or NULL when not known */
	char *topology;	 /* digest, or NULL */
	json_t *env;	 /* object of strings: kernel, bios, cpu, microcode, driver... */
	double uptime_s; /* since the boot when the run began, sleep included; 0 when not known */
	uint64_t lost;	 /* reports that its spool gave up so far */
	double duration_s;
	struct sample *samples;
	size_t n_samples;
	struct problem *problems;
	size_t n_problems;
	json_t *order; /* the order this answers, or NULL */
	/* Of report_read(): all strings and lists of the report are in here. */
	struct pool pool;
};

/* --- sample --- */

/* A sample with nothing set: state measured, better none, ok unknown, NANs. */
struct sample sample_init(void);

/* Free what it owns and leave it as by sample_init(). */
void sample_release(struct sample *s);

/*
 * Decode one sample object; refuses a version other than 1, a missing check or
 * subject, a value that is not measured, a measured one without a unit, a spread
 * that contradicts itself (min <= p50 <= p99 <= max, of those that are there), and
 * more than SAMPLE_WINDOWS_MAX windows. -EINVAL with the place. A class or unit that is
 * none of those known is tomorrow's version: the judge compares no such unit.
 */
int sample_decode(const struct jval *v, struct sample *ret, struct err *err);
json_t *sample_encode(const struct sample *s);

/*
 * Fill value, n, min, max, stddev, p50, p99 and w from `n` sub-window values
 * (median as the value). More than SAMPLE_WINDOWS_MAX are averaged in equal
 * neighbouring groups into `w`. `n` >= 1.
 */
void sample_set_windows(struct sample *s, const double *values, size_t n);

/* Is it one of the units that values are compared in: B/s, s, FLOP/s and 1? NULL is none. */
bool sample_unit_known(const char *unit);

/* Does the glob (lib/base/glob.h) match any class that a sample may have? What matches none is
 * never met. */
#define SAMPLE_CLASSES "self, pix, pxb, phb, node, sys, virtual"
bool sample_class_possible(const char *glob);

extern const char *const sample_state_names[];
extern const char *const sample_better_names[];
extern const char *const severity_names[];
extern const char *const problem_code_names[];

/* --- problem, report --- */

void problem_release(struct problem *p);
int problem_decode(const struct jval *v, struct problem *ret, struct err *err);
json_t *problem_encode(const struct problem *p);

void report_release(struct report *r);
int report_decode(const struct jval *v, struct report *ret, struct err *err);
json_t *report_encode(const struct report *r);

/*
 * Read the text of a report: what json_parse() and report_decode() do, several
 * times as fast. Nothing may be added to what it gives, and no sample taken from it.
 * -EBADMSG when it is not JSON, -EINVAL when it is and no report, with the place.
 * `memo` (may be NULL) has objects of reports before, which this one then shares.
 */
int report_read(const char *text, size_t length, struct jmemo *memo, struct report *ret,
		struct err *err);

/* Take `s` (left empty) into the report. -E2BIG past SAMPLE_COUNT_MAX. */
int report_add_sample(struct report *r, struct sample *s);

/* Take `p` (left empty) into the report. */
void report_add_problem(struct report *r, struct problem *p);
