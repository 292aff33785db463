/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options for a job whose steps take longer than they should: what each costs once, what it gains
 * per step, and when it pays off. Uses what a trace and the controller know.
 *
 * A step takes as long as the slowest replica (replicas.h), plus what the current step takes beyond
 * that. For a remedy with steps of T'
 *
 *	gain = T - T'	over R steps = R * gain - cost	break-even = cost / gain steps
 *
 * If R is known, remedies are sorted by gain over R steps; doing nothing (0) is one of them, so the
 * first is never worse. If R is not known they are sorted by cost, and what to do now follows from
 * what the job has lost already, as in ski rental: taking a remedy once its price has been lost
 * costs at most twice the optimum (Greyhound, ATC 2025, goes from one remedy to the next in this
 * way). A remedy that costs at least as much as another and gains no more is not a rung.
 *
 * Intervals are those of the input where it has any; for the model, REMEDIES_TOLERANCE of the step
 * to either side. NAN is unknown.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct replicas;

/* Predictions of a step are right within this part of it, as checked. */
#define REMEDIES_TOLERANCE 0.03

/* If less than this part of a step is no operation, it is noise: what profilers miss. */
#define REMEDIES_LEAST_DATA 0.01

/*
 * Each additional replaced host must gain this part of a step over the smaller set: good GPUs of a
 * model differ by as much (Sinha et al., SC22), so a spare may be no faster.
 */
#define REMEDIES_HOST_LEAST 0.03

/* Smaller gains, as a part of a step, count as none. */
#define REMEDIES_LEAST 1e-6

enum {
	REMEDIES_MAX = 48,
	REMEDIES_SETS_MAX = 16, /* sets of hosts to replace */
	REMEDIES_NOTE_SIZE = 240,
};

enum remedy_kind {
	REMEDY_NONE,	     /* go on unchanged */
	REMEDY_REPLACE,	     /* hosts by spares */
	REMEDY_DROP,	     /* go on without the slowest replicas, with the same batch */
	REMEDY_MICROBATCHES, /* fewer micro-batches for slow replicas */
	REMEDY_LAYERS,	     /* fewer layers for slow stages */
	REMEDY_BOTH,	     /* layers and micro-batches */
	REMEDY_SEQUENCES,    /* distribute sequences evenly, by the square of their length */
	REMEDY_GC,	     /* collect garbage on all workers at once, every N steps */
	REMEDY_STAGE,	     /* distribute layers evenly over stages */
	REMEDY_DATA,	     /* no waiting for data, the interpreter or kernel launches */
	REMEDY_KINDS
};

/* Names for users: "none", "replace", ... */
extern const char *const remedy_kind_names[REMEDY_KINDS + 1];

enum remedy_sure {
	REMEDY_EXACT, /* the trace was simulated with only that changed */
	REMEDY_MODEL, /* by the model above */
	REMEDY_BOUND, /* upper bound; the result depends on what is done */
};

extern const char *const remedy_sure_names[]; /* "exact", "model", "bound" */

/* Requirements; may be combined. */
enum remedy_needs {
	REMEDY_NEEDS_SPARE = 1 << 0,   /* `spares` hosts */
	REMEDY_NEEDS_RESTART = 1 << 1, /* of the job */
	REMEDY_NEEDS_CODE = 1 << 2,    /* support in the job's own code */
	REMEDY_NEEDS_MEMORY = 1 << 3,  /* on hosts that take more */
};

struct remedy_range {
	double value, low, high;
};

struct remedy {
	enum remedy_kind kind;
	enum remedy_sure sure;
	unsigned needs;			/* enum remedy_needs */
	size_t spares;			/* replacement hosts needed */
	size_t spares_missing;		/* how many of these are not available */
	double after_s;			/* duration of a step afterwards */
	double cost_s;			/* once */
	struct remedy_range gain_s;	/* per step */
	struct remedy_range pays_steps; /* NAN: never, as for no gain */
	struct remedy_range pays_hours;
	double over_s; /* gain over the remaining steps minus cost; NAN if unknown */
	size_t set;    /* REPLACE: index of the facts' set; else 0 */
	size_t count; /* DROP: replicas; MICROBATCHES, BOTH: of the slowest replica; GC: steps between */
	bool possible; /* false: lacks spares; listed, but never recommended */
	double gap_s;  /* REPLACE: another set of the same size may gain at most this much more */
	char note[REMEDIES_NOTE_SIZE]; /* one sentence for people, or "" */
};

/* Hosts that may be replaced together, and the resulting duration of a step. */
struct remedies_set {
	size_t n;		     /* hosts */
	struct remedy_range after_s; /* low and high NAN: no interval */
	double gap_s;		     /* 0: the best set of its size */
};

/* Seconds, each paid once; whatever cannot be done without a restart costs one. */
struct remedies_costs {
	double restart_s;      /* until the first step of the next run */
	double lost_s;	       /* work since the last checkpoint */
	double warm_up_s;      /* additional time of the first steps */
	double regroup_s;      /* to go on without a replica; NAN: needs a restart */
	double microbatches_s; /* to redistribute micro-batches; NAN: needs a restart */
	double layers_s;       /* to move layers; NAN: needs a restart */
};

/* All borrowed. */
struct remedies_facts {
	double now_s;			 /* current step, as recorded */
	double simulated_s;		 /* the same, simulated: baseline for what-ifs */
	const struct replicas *replicas; /* NULL: unknown; remedies that need them are left out */
	const struct remedies_set *sets; /* in ascending order of hosts */
	size_t n_sets;
	size_t spares; /* hosts available as replacements */
	/* Steps with only that fixed; NAN: not examined, or not a cause. */
	struct remedy_range sequences_s, gc_s;
	double pause_s;	   /* duration of one collection on a worker; NAN: unknown */
	bool stages;	   /* is an uneven cut a cause? */
	double remaining;  /* steps; NAN: unknown */
	double slow_steps; /* steps for which it has been slow; NAN: unknown */
	struct remedies_costs costs;
};

struct remedies {
	struct remedy list[REMEDIES_MAX]; /* best first */
	size_t n;
	size_t advised;	   /* index: what to do now */
	double lost_s;	   /* so far, compared with the best of them; NAN: unknown */
	size_t next;	   /* index: the next rung; n: none, or R is known */
	double next_steps; /* until the loss reaches its price */
};

/* All remedies that the facts allow, sorted. -EINVAL for facts out of bounds. */
int remedies_find(const struct remedies_facts *facts, struct remedies *ret, struct err *err);

/* The last of `n` ascending prices that `lost_s` has reached; 0 if it has reached none. */
size_t remedies_rung(const double *costs, size_t n, double lost_s);

/* What happens to a job if hosts are taken away without replacement. */
struct remedies_loss {
	size_t workers;	 /* taken away */
	size_t replicas; /* that stop, as a replica needs all of its workers */
	size_t left;	 /* replicas that go on; 0: the job cannot */
	double after_s;	 /* duration of a step with the same batch; NAN if none is left */
};

/* `gone[d * pp + stage]`: true if its host is taken. The facts must have replicas. */
struct remedies_loss remedies_without(const struct remedies_facts *facts, const bool *gone);
