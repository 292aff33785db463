/* SPDX-License-Identifier: Apache-2.0 */
/* A fake assayd: a thread that accepts rings on the socket, and tells what to record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/ring/ring_layout.h"

enum fake_manner {
	FAKE_TAKES,
	FAKE_REFUSES,
	FAKE_SILENT,	 /* accepts the connection and sends nothing */
	FAKE_BABBLES,	 /* a welcome with a wrong magic */
	FAKE_NO_PAGE,	 /* a welcome without a page */
	FAKE_UNSEALED,	 /* a page that could be truncated (no seal) */
	FAKE_SHORT_PAGE, /* a page shorter than it claims */
	FAKE_OTHER_PAGE, /* a page with a wrong magic */
};

/* Starts it on a socket in a new directory. Sets $ASSAY_RING_SOCKET. */
void fake_assayd_start(void);

/* Stops the thread; removes the socket and the rings. */
void fake_assayd_stop(void);

/* Sets how it handles the next connections, and the initial mask in the pages of new rings. */
void fake_assayd_manner(enum fake_manner manner, uint32_t mask);

/* The number of rings so far; the i-th, mapped for reading; its page. Valid until the stop. */
int fake_assayd_rings(void);
const struct ring_head *fake_assayd_ring(int i);
struct ring_control *fake_assayd_page(int i);

/* How often a ring was handed over again; the control in the head of the i-th ring, NULL until it
 * was. Its initial contents are those of a page, valid for an hour. */
int fake_assayd_agains(void);
struct ring_control *fake_assayd_wants(int i);

/* Stops listening, as if assayd were not running; listens again. */
void fake_assayd_leave(void);
void fake_assayd_return(void);

/* Drops its state of the first rings, as assayd does when it forgets them. */
void fake_assayd_forget(void);

/* Makes the slot of an operation look as if its writer had stopped halfway. */
void fake_assayd_scribble(int i, uint64_t number);

/* A copy of a slot. */
struct fake_slot {
	uint64_t seq, count, enqueued_ns, gpu_start_ns, gpu_stop_ns, host_start_ns, host_stop_ns,
		wait_ns;
	int32_t peer;
	uint16_t channels, started, stopped;
	uint8_t wait, func, flags, algo, proto, element_size;
	char func_name[20];
};

/* Copies the slot of an operation with the reader's protocol. Returns false if it is not there. */
bool fake_assayd_read(const struct ring_head *head, uint64_t number, struct fake_slot *ret);
