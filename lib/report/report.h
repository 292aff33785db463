/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs send each other: sample/1 (one measured fact, printed by a probe as one line of
 * JSON), problem (work that was not done) and report/1 (the result of one run of a profile on one
 * node). Formats: docs/formats.md.
 *
 * A sick device is a sample (value low, ok false). A problem is only about the probing itself, and
 * can never condemn a device.
 *
 * All strings are owned by their struct, unless it was read by report_read(). Readers ignore
 * unknown keys.
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
	SAMPLE_WINDOWS_MIN = 8,		    /* sub-windows of a rate, if it has any */
	SAMPLE_WINDOWS_MAX = 32,
	PROBLEM_TEXT_MAX = 4096,       /* bytes kept of detail and of stderr */
	PROFILE_NAME_MAX = 64,	       /* bytes; the name becomes a file name */
	RUN_SECONDS_MAX = 366 * 86400, /* of a run or a sample: no test of a host takes a year */
};

/* What assayd sees between runs; it says nothing about what assayd does not watch. */
#define PROFILE_WATCH "watch"
/* Probes picked by hand: another run of it may have other probes. */
#define PROFILE_HAND_PICKED "probes"

/* True if runs of this profile load the devices. */
bool profile_is_active(const char *profile);

enum sample_state {
	SAMPLE_MEASURED,
	SAMPLE_BUSY,		/* somebody else uses the device; never means slow */
	SAMPLE_FOREIGN_TRAFFIC, /* somebody else's traffic was seen on the port */
	SAMPLE_SET_UP,		/* permission, GID, library: not the device's fault */
	SAMPLE_TIMEOUT,
	SAMPLE_ABORTED, /* a job arrived and the probe yielded */
};

enum sample_better { BETTER_HIGHER, BETTER_LOWER, BETTER_NONE };

/* How serious a false `ok` is. If absent: fail. */
enum severity { SEVERITY_FAIL, SEVERITY_INFO, SEVERITY_WARN, SEVERITY_FATAL };

enum tristate { TRI_UNKNOWN = -1, TRI_NO = 0, TRI_YES = 1 };

struct jmemo;

struct sample {
	char *check;	 /* "gemm.rate": family, dot, what is measured */
	char *subject;	 /* "cpu:3", "mlx5_0:1>gpu:GPU-...": canonical text */
	double value;	 /* in `unit`; NAN if not measured */
	char *unit;	 /* "B/s", "s", "FLOP/s" or "1" */
	int better;	 /* enum sample_better */
	int ok;		 /* enum tristate: judgement of the probe itself */
	int state;	 /* enum sample_state */
	char *from, *to; /* ends of a path, as node ids of the topology */
	char *locality;	 /* "class": self pix pxb phb node sys virtual */
	char **path;	 /* link ids from `from` to `to`, or NULL */
	json_t *params;	 /* object: what must be equal to compare two samples */
	/* From report_read(): `params` as canonical text; else NULL, even if there are params. */
	const char *params_text;
	char **with; /* nodes or subjects that were measured at the same time, or NULL */
	char *code;  /* machine-readable detail, as "xid:79" */
	uint64_t n;  /* measurements behind `value`; 0: unknown */
	double min, max, stddev, p50, p99; /* NAN if absent */
	struct jreals w;		   /* sub-window values, 8 to 32 */
	double start;			   /* UNIX time in seconds; NAN if absent */
	double seconds;			   /* duration of the measurement; NAN if absent */
	int severity;			   /* enum severity; applies if ok is false */
	char *note;			   /* one sentence for people */
	json_t *parts;			   /* names of its subject: host_parts.h, or NULL */
};

enum problem_code {
	PROBLEM_TIMEOUT,	/* killed when its budget was used up */
	PROBLEM_CRASHED,	/* died by a signal */
	PROBLEM_EXIT,		/* exit status other than 0, 2, 77 */
	PROBLEM_GARBAGE,	/* printed something that is not a sample */
	PROBLEM_TOO_MUCH,	/* printed more than a limit */
	PROBLEM_EMPTY,		/* exit 0 without any sample */
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
	char *node;	/* host name, or Kubernetes node name */
	char *boot_id;	/* /proc/sys/kernel/random/boot_id */
	uint64_t seq;	/* from 1, never reused in a state directory; 0: not numbered */
	char *time;	/* RFC 3339 UTC, start of the run */
	char *profile;	/* "passive", "quick", "full", PROFILE_WATCH, PROFILE_HAND_PICKED */
	char *agent;	/* version of this program */
	char *sku;	/* or NULL if not known */
	char *topology; /* digest, or NULL */
	json_t *env;	/* object of strings: kernel, bios, cpu, microcode, driver... */
	double uptime_s; /* seconds from boot to the start of the run, including suspend; 0: unknown */
	uint64_t lost; /* reports that its spool has dropped so far */
	double duration_s;
	struct sample *samples;
	size_t n_samples;
	struct problem *problems;
	size_t n_problems;
	json_t *order; /* the order this answers, or NULL */
	/* From report_read(): owns all strings and lists of the report. */
	struct pool pool;
};

/* --- sample --- */

/* An empty sample: state measured, better none, ok unknown, NANs. */
struct sample sample_init(void);

/* Frees what it owns and resets it to sample_init(). */
void sample_release(struct sample *s);

/*
 * Decodes one sample object. -EINVAL with the place for: a version other than 1, a missing check or
 * subject, a value that is not measured, a measured one without a unit, a spread that contradicts
 * itself (min <= p50 <= p99 <= max, as far as present), more than SAMPLE_WINDOWS_MAX windows.
 * Unknown classes and units are accepted, as from a later version; the judge does not compare such
 * units.
 */
int sample_decode(const struct jval *v, struct sample *ret, struct err *err);
json_t *sample_encode(const struct sample *s);

/*
 * Sets value (the median), n, min, max, stddev, p50, p99 and w from `n` >= 1 sub-window values.
 * More than SAMPLE_WINDOWS_MAX are averaged into `w` in equal groups of neighbours.
 */
void sample_set_windows(struct sample *s, const double *values, size_t n);

/* True for units in which values are compared: B/s, s, FLOP/s and 1. False for NULL. */
bool sample_unit_known(const char *unit);

/* True if the glob (lib/base/glob.h) matches any class that samples can have. */
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
 * Reads the text of a report: the same as json_parse() and report_decode(), several times as fast.
 * The result is read-only: nothing may be added to it, and no sample taken out. -EBADMSG if it is
 * not JSON, -EINVAL if it is not a report, with the place. `memo` (may be NULL) holds objects of
 * earlier reports, which this one then shares.
 */
int report_read(const char *text, size_t length, struct jmemo *memo, struct report *ret,
		struct err *err);

/* Moves `s` (left empty) into the report. -E2BIG past SAMPLE_COUNT_MAX. */
int report_add_sample(struct report *r, struct sample *s);

/* Moves `p` (left empty) into the report. */
void report_add_problem(struct report *r, struct problem *p);
