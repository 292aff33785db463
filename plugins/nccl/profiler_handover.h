/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands a ring to assayd and receives assayd's requests; the messages are in
 * lib/ring/ring_layout.h. A job waits for this once per communicator, in its init, for at most
 * HANDOVER_LIMIT_MS (more in tests on busy machines: ASSAY_RING_LIMIT_MS).
 */
#pragma once

#include <sys/un.h>

#include "lib/ring/ring_layout.h"

enum {
	HANDOVER_LIMIT_MS = 100,
	HANDOVER_LIMIT_MS_MAX = 60000,
	HANDOVER_LATE_MAX = 2, /* timeouts of assayd before this process stops asking */
};

/* $ASSAY_RING_SOCKET, or assayd's default socket. -ENAMETOOLONG. */
int profiler_handover_where(struct sockaddr_un *ret);

/*
 * Create a sealed ring with this head and hand it over there. On success, returns 0 with the ring's
 * descriptor, owned by the caller, and the page with requests, mapped read-only and never unmapped
 * (if `*control` is not NULL, over the page there). Otherwise returns a negative errno:
 *
 *	ENOENT, ECONNREFUSED, EACCES, EAGAIN	nobody is there, or too many are
 *	ETIMEDOUT	no answer from assayd; ECANCELED: too often before, so it was not asked
 *	EPERM	assayd does not want it
 *	EPROTO	malformed answer
 *
 * or that of memfd_create(2), write(2), mmap(2).
 */
int profiler_handover(const struct sockaddr_un *where, const struct ring_head *head, int *ret_ring,
		      const struct ring_control **control);

/*
 * Hand over a ring that was accepted before, without waiting for anything, not even room in a
 * queue, because this is called from NCCL's calls. 0: it is sent, and assayd will answer in the
 * ring's head. Errors as above, except ETIMEDOUT.
 */
int profiler_handover_again(const struct sockaddr_un *where, int ring);
