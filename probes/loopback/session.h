/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell with everything it is measured with: device, address, memory, queues. Also detects other
 * users of the port, before and during the measurement.
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
	struct flow flow; /* with its engine and queues */
	struct gid_choice gid;
	unsigned mtu;
	uint16_t pkey;
	struct region_way via; /* how GPU memory was registered; NULLs: host memory */
	bool software;	       /* a software device: it shares its cores with us */
	bool answered;	       /* a request has been answered */
	bool broken;	       /* the queues are unusable */
	struct traffic before; /* counters of the port at the start of the check */
	uint64_t requests;     /* in this check, by all sessions on this port */
};

/*
 * Open `cell`. -EBUSY with the reason if others use the port, unless the probe is told to run
 * anyway; any other negative errno is a set-up error. The caller closes the session in either case.
 */
int session_open(struct session *s, const struct cell *cell, struct err *err);
void session_close(struct session *s);

/* Can this process access the memory that is written to? */
bool session_sees(const struct session *s);

/* Begin a check with `flow`: clear its target and read the counters. */
void session_guard(struct session *s, const struct flow *flow);

/*
 * End a check with `flow`, after all its requests have completed. Fills `sample` as rdma_explain()
 * does, or for foreign traffic, and returns true if there is no value or not a valid one. Otherwise
 * `ret_words` may have text for the note.
 */
bool session_judge(struct session *s, const struct flow *flow, const struct flow_result *result,
		   struct sample *sample, char ret_words[static TRAFFIC_WORDS_SIZE]);

/*
 * Check that the right data arrived; wrong data makes the sample not ok, whatever its value. Only
 * the beginning of each queue's part, which was written repeatedly, is compared.
 */
void session_check_data(const struct session *s, const struct flow *flow,
			const struct flow_result *result, struct sample *sample);
