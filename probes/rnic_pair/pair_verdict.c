/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "probes/rdma/port_guard.h"
#include "probes/rdma/words.h"
#include "probes/rnic_pair/pair_side.h"

void pair_decide(struct pair_verdict *v, int state, int ok, const char *format, ...)
{
	va_list args;

	v->state = state;
	v->ok = ok;
	va_start(args, format);
	(void)vsnprintf(v->note, sizeof(v->note), format, args);
	va_end(args);
}

static const struct pair_side *down_side(const struct pair_lanes *l)
{
	if (!pair_side_is_up(l->side))
		return l->side;
	return l->other && !pair_side_is_up(l->other) ? l->other : NULL;
}

/* The end that an operator took down; the other end of its cable merely follows. */
static const struct pair_side *off_side(const struct pair_lanes *l)
{
	if (port_is_taken_down(l->side->port))
		return l->side;
	return l->other && port_is_taken_down(l->other->port) ? l->other : NULL;
}

/* Nothing arrives between active ports: a bad path. Other failures are not. */
void pair_decide_lost(struct pair_verdict *v, const struct pair_lanes *l, int r,
		      const struct rdma_done *done, const char *what)
{
	const struct pair_side *down = down_side(l), *off = down ? off_side(l) : NULL;
	const char *from = l->side->port->device;
	CLEANUP(freep) char *words = NULL;

	if (r == -ETIME) {
		pair_decide(v, SAMPLE_TIMEOUT, TRI_UNKNOWN, "%s had not finished when time ran out",
			    what);
		return;
	}
	words = rdma_done_words(done);
	if (!rdma_status_is_sick(done->status))
		pair_decide(v, SAMPLE_SET_UP, TRI_UNKNOWN, "%s failed: %s", what, words);
	else if (off)
		pair_decide(v, SAMPLE_ABORTED, TRI_UNKNOWN,
			    "%s port %u was taken down by an operator during the test",
			    off->port->device, off->port->number);
	else if (down)
		pair_decide(v, SAMPLE_MEASURED, TRI_NO, "%s port %u went down during the test",
			    down->port->device, down->port->number);
	v->no_path = !off && !down && rdma_status_is_sick(done->status);
	if (v->no_path)
		pair_decide(v, SAMPLE_MEASURED, TRI_NO,
			    "no path from %s to %s, though %s: %s failed, %s", from,
			    l->other ? l->other->port->device : l->far,
			    l->other ? "both ports are up" : "its port is up", what, words);
}
