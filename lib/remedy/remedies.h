/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways out for a job whose steps take longer than they should: what each costs once, what it
 * gains in each step, and when it has paid. From what a trace and the controller know.
 *
 * A step is the slowest replica (replicas.h), and what of a step of now is beyond that. For a
 * remedy of steps of T'
 *
 *	gain = T - T'	over R steps = R * gain - cost	break-even = cost / gain steps
 *
 * Of known R the largest gain over R steps comes first, and doing nothing (0) is one of them: so
 * the first is never worse. Where R is not known the order is that of cost, and what to do now
 * follows from what the job has lost already, as in ski rental: whoever takes a remedy once its
 * price has been lost has paid at most twice what the best guess would have (Greyhound, ATC 2025,
 * goes from one remedy to the next so). One that costs at least as much as another and gains no
 * more is no rung.
 *
 * Intervals are those of the figures that came in where they have any; of what the model says
 * REMEDIES_TOLERANCE of the step to either side. NAN is what is not known.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct replicas;

/* A step that the model predicts is right within this part of it, as predictions are checked. */
#define REMEDIES_TOLERANCE 0.03

/* Of a step that is no operation less than this is noise: what profilers leave out. */
#define REMEDIES_LEAST_DATA 0.01

/*
 * Each host more that is replaced gains at least this part of a step beyond what the fewer do: good
 * GPUs of a model differ by as much (Sinha et al., SC22), so a spare may be no faster.
 */
#define REMEDIES_HOST_LEAST 0.03

/* What is gained below this part of a step is nothing. */
#define REMEDIES_LEAST 1e-6

enum {
	REMEDIES_MAX = 48,
	REMEDIES_SETS_MAX = 16, /* sets of hosts to replace */
	REMEDIES_NOTE_SIZE = 240,
};

enum remedy_kind {
	REMEDY_NONE,	     /* go on as it is */
	REMEDY_REPLACE,	     /* hosts by spare ones */
	REMEDY_DROP,	     /* go on without the slowest replicas, the batch kept */
	REMEDY_MICROBATCHES, /* fewer micro-batches for slow replicas */
	REMEDY_LAYERS,	     /* fewer layers for slow stages */
	REMEDY_BOTH,	     /* layers and micro-batches */
	REMEDY_SEQUENCES,    /* sequences dealt evenly, by the square of their length */
	REMEDY_GC,	     /* garbage collected everywhere at once, each so many steps */
	REMEDY_STAGE,	     /* layers dealt evenly over stages */
	REMEDY_DATA,	     /* no wait for the data, the interpreter or the launch of kernels */
	REMEDY_KINDS
};

/* What a reader calls each: "none", "replace", ... */
extern const char *const remedy_kind_names[REMEDY_KINDS + 1];

enum remedy_sure {
	REMEDY_EXACT, /* the trace was simulated with just that changed */
	REMEDY_MODEL, /* by the model above */
	REMEDY_BOUND, /* at most this; what is reached depends on what is done */
};

extern const char *const remedy_sure_names[]; /* "exact", "model", "bound" */

/* What it takes; several together. */
enum remedy_needs {
	REMEDY_NEEDS_SPARE = 1 << 0,   /* `spares` hosts */
	REMEDY_NEEDS_RESTART = 1 << 1, /* of the job */
	REMEDY_NEEDS_CODE = 1 << 2,    /* the job's own code must be able to */
	REMEDY_NEEDS_MEMORY = 1 << 3,  /* on hosts that take more */
};

struct remedy_range {
	double value, low, high;
};

struct remedy {
	enum remedy_kind kind;
	enum remedy_sure sure;
	unsigned needs;			/* of enum remedy_needs */
	size_t spares;			/* hosts that it needs in place of others */
	size_t spares_missing;		/* of those, how many are not there */
	double after_s;			/* what a step takes then */
	double cost_s;			/* once */
	struct remedy_range gain_s;	/* in each step */
	struct remedy_range pays_steps; /* NAN: never, as for what gains nothing */
	struct remedy_range pays_hours;
	double over_s; /* gain over the remaining steps less the cost; NAN where they are not known */
	size_t set;    /* REPLACE: which of the facts' sets; else 0 */
	size_t count; /* DROP: replicas; MICROBATCHES, BOTH: of the slowest replica; GC: steps between */
	bool possible; /* false: it lacks spares; it is listed, and never recommended */
	double gap_s;  /* REPLACE: some other set of as many hosts may gain so much more, at most */
	char note[REMEDIES_NOTE_SIZE]; /* one sentence for people, or "" */
};

/* Hosts that may be replaced together, and what a step takes then. */
struct remedies_set {
	size_t n;		     /* hosts */
	struct remedy_range after_s; /* low and high NAN: no interval */
	double gap_s;		     /* 0: it is the best of its size */
};

/* Seconds, once each; what a job cannot do without a restart costs one. */
struct remedies_costs {
	double restart_s;      /* until the first step of the next run */
	double lost_s;	       /* work since the last checkpoint */
	double warm_up_s;      /* what the first steps take longer */
	double regroup_s;      /* to go on without a replica; NAN: a restart */
	double microbatches_s; /* to deal micro-batches otherwise; NAN: a restart */
	double layers_s;       /* to move layers; NAN: a restart */
};

/* All borrowed. */
struct remedies_facts {
	double now_s;			 /* a step of now, as recorded */
	double simulated_s;		 /* the same, simulated: what what-ifs are held against */
	const struct replicas *replicas; /* NULL: not known, and what needs them is left out */
	const struct remedies_set *sets; /* each of more hosts than the one before */
	size_t n_sets;
	size_t spares; /* hosts that could come in place */
	/* Steps with just that mended; NAN: it was not looked at, or is not the cause. */
	struct remedy_range sequences_s, gc_s;
	double pause_s;	   /* what one collection takes on a worker; NAN: not known */
	bool stages;	   /* is an uneven cut a cause? */
	double remaining;  /* steps; NAN: not known */
	double slow_steps; /* steps that it has been slow for; NAN: not known */
	struct remedies_costs costs;
};

struct remedies {
	struct remedy list[REMEDIES_MAX]; /* the best first */
	size_t n;
	size_t advised;	   /* of the list: what to do now */
	double lost_s;	   /* so far, against the best of them; NAN: not known */
	size_t next;	   /* of the list: the next rung; n: there is none, or R is known */
	double next_steps; /* until what is lost reaches its price */
};

/* All remedies that the facts allow, in their order. -EINVAL for facts out of their bounds. */
int remedies_find(const struct remedies_facts *facts, struct remedies *ret, struct err *err);

/* The last of `n` prices, ascending, that `lost_s` has reached: 0 where it has reached none. */
size_t remedies_rung(const double *costs, size_t n, double lost_s);

/* What becomes of a job when hosts are taken from it and nothing comes in place. */
struct remedies_loss {
	size_t workers;	 /* that go */
	size_t replicas; /* that stop: with any of them the whole */
	size_t left;	 /* replicas that go on; 0: the job cannot */
	double after_s;	 /* a step with the batch kept; NAN where none is left */
};

/* `gone[d * pp + stage]`: whose host is taken. The facts have replicas. */
struct remedies_loss remedies_without(const struct remedies_facts *facts, const bool *gone);
