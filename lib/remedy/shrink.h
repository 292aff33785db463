/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that goes on with fewer hosts, as in Oobleck (Jang et al., SOSP 2023): templates of
 * pipelines of n0 to N - f*n0 hosts, the pipelines that the job would best have of them, and what
 * becomes of those it has when hosts are lost: who forms pipelines with whom, who copies which
 * layers from whom, and how long that takes. The micro-batches of a step stay as many.
 *
 * A host is one stage. A template is cut for good hosts (layers_cut.h); a step takes what the
 * hosts that are there take. Each pipeline is a copy of the model: with f + 1 of them f hosts may
 * go at any place and nothing has to be read back.
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
	SHRINK_LOOKED_MAX = 2000, /* instantiations that are tried, evenly among all */
	SHRINK_ROWS = 1 << 20,	  /* a model in parts, so that copies are counted by bytes */
};

struct shrink_templates {
	size_t least;		    /* n0: hosts that the model fits in */
	struct oobleck_sizes sizes; /* no more than there are layers */
	size_t *cuts; /* owned: layers of the stages of size s at [(s - first) * last] */
};

/*
 * -ERANGE when there are too few hosts for f + 1 pipelines, or when the model fits in none (which
 * bound, and by how much); -EINVAL for a job out of the bounds of rearrange.h or more hosts than
 * SHRINK_HOSTS_MAX.
 */
int shrink_templates(const struct rearrange_job *job, size_t failures,
		     struct shrink_templates *ret_templates, struct err *err);
void shrink_templates_release(struct shrink_templates *templates);

/* The layers of the stages of a pipeline of so many hosts. */
const size_t *shrink_cut(const struct shrink_templates *templates, size_t size);

struct shrink_choice {
	size_t *sizes;	      /* owned: of its pipelines, ascending */
	size_t *microbatches; /* owned: of each */
	size_t n;
	double time;	      /* of a step, when all hosts are good */
	uint64_t all, looked; /* instantiations that there are, that were tried; all 0: too many */
};

/* The pipelines, f + 1 or more, that `hosts` good hosts best form. Errors as above. */
int shrink_choose(const struct rearrange_job *job, const struct shrink_templates *templates,
		  size_t hosts, size_t failures, struct shrink_choice *ret_choice, struct err *err);
void shrink_choice_release(struct shrink_choice *choice);

struct shrink_plan {
	struct reconfigure_pipelines pipelines; /* hosts ascend: the first is the first stage */
	enum reconfigure_way way;
	size_t *microbatches; /* owned, of each pipeline */
	double time;	      /* of a step */
	bool restart;	      /* some layer is on no host that is left: read a checkpoint */
	struct hotspa_switch_plan copies; /* rows of SHRINK_ROWS a model; none with `restart` */
	double bytes;			  /* that the host with most of them sends or gets */
};

/*
 * The job after hosts d * pp + p in `lost` are gone. -ERANGE when fewer than n0 hosts are left, or
 * fewer micro-batches than pipelines.
 */
int shrink_plan(const struct rearrange_job *job, const struct shrink_templates *templates,
		const uint32_t *lost, size_t n_lost, struct shrink_plan *ret_plan, struct err *err);
void shrink_plan_release(struct shrink_plan *plan);

/* The layer that a row is of. */
size_t shrink_layer(const struct rearrange_job *job, int64_t row);
