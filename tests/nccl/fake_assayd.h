/* SPDX-License-Identifier: Apache-2.0 */
/* The other end of the socket: a thread that takes rings, and says what is wanted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/ring/ring_layout.h"

enum fake_manner {
	FAKE_TAKES,
	FAKE_REFUSES,
	FAKE_SILENT,	 /* takes the connection and says nothing */
	FAKE_BABBLES,	 /* a welcome of another magic */
	FAKE_NO_PAGE,	 /* a welcome without a page */
	FAKE_UNSEALED,	 /* a page that could be cut */
	FAKE_SHORT_PAGE, /* that ends after what it says */
	FAKE_OTHER_PAGE, /* of another magic */
};

/* Put the socket at $ASSAY_RING_SOCKET, which is set, in a directory of its own. */
void fake_assayd_start(void);

/* Its thread has ended when this returns, the socket and the rings are gone. */
void fake_assayd_stop(void);

/* How the next connections are met; and what the pages of the rings to come say at first. */
void fake_assayd_manner(enum fake_manner manner, uint32_t mask);

/* Rings that came so far; the n-th, mapped for reading, its pages; both stay until the stop. */
int fake_assayd_rings(void);
const struct ring_head *fake_assayd_ring(int i);
struct ring_control *fake_assayd_page(int i);

/* How often a ring was handed over again; what is wanted of the n-th in its own head, NULL until it
 * was. What it says at first is as of a page, and holds for an hour. */
int fake_assayd_agains(void);
struct ring_control *fake_assayd_wants(int i);

/* Nobody listens any more, as when assayd is not there; and again. */
void fake_assayd_leave(void);
void fake_assayd_return(void);

/* Let what it has of the first rings go, as when they are forgotten. */
void fake_assayd_forget(void);

/* Let the slot of an operation look as if a thread had stopped while it wrote there. */
void fake_assayd_scribble(int i, uint64_t number);

/* A slot, as plain memory. */
struct fake_slot {
	uint64_t seq, count, enqueued_ns, gpu_start_ns, gpu_stop_ns, host_start_ns, host_stop_ns,
		wait_ns;
	int32_t peer;
	uint16_t channels, started, stopped;
	uint8_t wait, func, flags, algo, proto, element_size;
	char func_name[20];
};

/* A copy of the slot of an operation, as a careful reader makes it; false: it is not there. */
bool fake_assayd_read(const struct ring_head *head, uint64_t number, struct fake_slot *ret);
