/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that goes on with fewer hosts, as in Oobleck (Jang et al., SOSP 2023): templates of
 * pipelines of n0 to N - f*n0 hosts, the best pipelines for the job, and what becomes of its
 * current ones when hosts are lost: who forms pipelines with whom, who copies which layers from
 * whom, and how long that takes. The number of micro-batches of a step stays the same.
 *
 * A host is one stage. A template is cut for good hosts (layers_cut.h); the duration of a step is
 * that of the actual hosts. Each pipeline is a copy of the model: with f + 1 of them, any f hosts
 * may fail and nothing has to be read back.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/remedy/hotspa_switch.h"
#include "lib/remedy/oobleck.h"
#include "lib/remedy/rearrange.h"
#include "lib/remedy/reconfigure.h"

enum {
	SHRINK_HOSTS_MAX = OOBLECK_HOSTS_MAX,
	SHRINK_LOOKED_MAX = 2000, /* instantiations tried, evenly spread over all */
	SHRINK_ROWS = 1 << 20,	  /* parts of a model, to count copies by bytes */
};

struct shrink_templates {
	size_t least;		    /* n0: least hosts that the model fits in */
	struct oobleck_sizes sizes; /* not more than the number of layers */
	size_t *cuts; /* owned: layers of the stages of size s at [(s - first) * last] */
};

/*
 * -ERANGE if there are too few hosts for f + 1 pipelines, or if the model fits in none (with the
 * limit and the shortfall); -EINVAL for a job beyond the limits of rearrange.h, or more hosts than
 * SHRINK_HOSTS_MAX.
 */
int shrink_templates(const struct rearrange_job *job, size_t failures,
		     struct shrink_templates *ret_templates, struct err *err);
void shrink_templates_release(struct shrink_templates *templates);

/* The layers of the stages of a pipeline with this many hosts. */
const size_t *shrink_cut(const struct shrink_templates *templates, size_t size);

struct shrink_choice {
	size_t *sizes;	      /* owned: sizes of its pipelines, ascending */
	size_t *microbatches; /* owned: per pipeline */
	size_t n;
	double time;	      /* of a step if all hosts are good */
	uint64_t all, looked; /* instantiations in all, and tried; all 0: too many */
};

/* The best pipelines, at least f + 1, for `hosts` good hosts. Errors as above. */
int shrink_choose(const struct rearrange_job *job, const struct shrink_templates *templates,
		  size_t hosts, size_t failures, struct shrink_choice *ret_choice, struct err *err);
void shrink_choice_release(struct shrink_choice *choice);

struct shrink_plan {
	struct reconfigure_pipelines pipelines; /* hosts ascend: the first is the first stage */
	enum reconfigure_way way;
	size_t *microbatches;		  /* owned, per pipeline */
	double time;			  /* of a step */
	bool restart;			  /* a layer is on no remaining host: read a checkpoint */
	struct hotspa_switch_plan copies; /* rows, SHRINK_ROWS per model; none with `restart` */
	double bytes;			  /* the most that a host sends or receives */
};

/*
 * The job after the hosts d * pp + p in `lost` are gone. -ERANGE if fewer than n0 hosts are left,
 * or fewer micro-batches than pipelines.
 */
int shrink_plan(const struct rearrange_job *job, const struct shrink_templates *templates,
		const uint32_t *lost, size_t n_lost, struct shrink_plan *ret_plan, struct err *err);
void shrink_plan_release(struct shrink_plan *plan);

/* The layer to which a row belongs. */
size_t shrink_layer(const struct rearrange_job *job, int64_t row);
