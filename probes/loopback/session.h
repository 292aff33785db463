/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell with everything set up that it measures with: device, address,
 * memory, queues. And the guard over it: who else uses the port, before and
 * meanwhile.
 */
#pragma once

#include "probes/loopback/loopback.h"
#include "probes/rdma/flow.h"
#include "probes/rdma/gid.h"
#include "probes/rdma/region_accel.h"
#include "probes/rdma/traffic.h"

struct session {
	const struct cell *cell;
	const struct rdma_ops *ops;
	struct rdma_device *device;
	struct rdma_region source, target;
	struct flow flow; /* its engine and queues */
	struct gid_choice gid;
	unsigned mtu;
	uint16_t pkey;
	struct region_way via; /* how GPU memory was registered; NULLs: host memory */
	bool software;	       /* the device is: it shares its cores with us */
	bool answered;	       /* some request once was */
	bool broken;	       /* its queues are of no more use */
	struct traffic before; /* the counters of the port when the check began */
	uint64_t requests;     /* of this check, by all sessions on this port */
};

/*
 * Open `cell`. -EBUSY with the reason when others use the port and the probe is
 * not told to run all the same; any other negative errno is set-up. Close it
 * in either case.
 */
int session_open(struct session *s, const struct cell *cell, struct err *err);
void session_close(struct session *s);

/* Can this process look at the memory that is written to? */
bool session_sees(const struct session *s);

/* A check with `flow` begins: nothing of what it is to bring is there yet. */
void session_guard(struct session *s, const struct flow *flow);

/*
 * A check with `flow` has ended, all it asked for included: what `s` is worth,
 * as by rdma_explain() and by the traffic of others. True when it says why there
 * is no value, or only a false one; else a word for the note may be in `ret_words`.
 */
bool session_judge(struct session *s, const struct flow *flow, const struct flow_result *result,
		   struct sample *sample, char ret_words[static TRAFFIC_WORDS_SIZE]);

/*
 * Did the right data arrive? False data makes the sample false, whatever its value. Looked at
 * is the beginning of each queue's part, which was written again and again.
 */
void session_check_data(const struct session *s, const struct flow *flow,
			const struct flow_result *result, struct sample *sample);
