/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of connecting one direction of a pair. */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct pair_lanes;
struct rdma_done;

enum { PAIR_NOTE_SIZE = 512 };

/* For a sample of rnic_pair.connect. */
struct pair_verdict {
	int state; /* enum sample_state */
	int ok;	   /* enum tristate; unknown unless measured */
	unsigned mtu;
	bool reached; /* a small write arrived */
	bool no_path; /* nothing arrived, though both ports are up */
	bool apart;   /* its ports are on separate networks: it is not measured... */
	bool untold;  /* ...and another pair of the same networks reports that */
	char note[PAIR_NOTE_SIZE];
};

void pair_decide(struct pair_verdict *v, int state, int ok, const char *format, ...) PRINTF(4, 5);

/* Decide on a write (`what`) that did not arrive: pair_lanes_wait() returned `r`, with `done`. */
void pair_decide_lost(struct pair_verdict *v, const struct pair_lanes *l, int r,
		      const struct rdma_done *done, const char *what);
