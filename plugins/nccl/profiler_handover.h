/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a ring comes to assayd, and what assayd wants comes here: lib/ring/ring_layout.h has the
 * words. A job waits for it once a communicator, in its init, HANDOVER_LIMIT_MS at most (tests on
 * busy machines give it more: ASSAY_RING_LIMIT_MS).
 */
#pragma once

#include <sys/un.h>

#include "lib/ring/ring_layout.h"

enum {
	HANDOVER_LIMIT_MS = 100,
	HANDOVER_LIMIT_MS_MAX = 60000,
	HANDOVER_LATE_MAX = 2, /* times that assayd was late, until this process asks no more */
};

/* $ASSAY_RING_SOCKET, or where assayd's socket is by default. -ENAMETOOLONG. */
int profiler_handover_where(struct sockaddr_un *ret);

/*
 * Make a ring with this head, sealed, and hand it over there. Returns 0 with the descriptor of the
 * ring, yours, and the page that says what is wanted, mapped for reading and never unmapped: where
 * `*control` is not NULL, over the page there. Or a negative errno:
 *	ENOENT, ECONNREFUSED, EACCES, EAGAIN	nobody is there, or too many are
 *	ETIMEDOUT	assayd did not answer; ECANCELED: it has been so before, and was not asked
 *	EPERM	it does not want it
 *	EPROTO	it answered what is no answer
 * or of memfd_create(2), write(2), mmap(2).
 */
int profiler_handover(const struct sockaddr_un *where, const struct ring_head *head, int *ret_ring,
		      const struct ring_control **control);

/*
 * Hand a ring over that was taken once, and wait for nothing, not even for room in a queue: this is
 * called where NCCL calls. 0: it is on its way, and what becomes of it is said in its head. Errors
 * as above, but ETIMEDOUT.
 */
int profiler_handover_again(const struct sockaddr_un *where, int ring);
