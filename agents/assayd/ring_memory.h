/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a ring, and of its control page, which says what to record (ring_layout.h).
 *
 * A descriptor from a stranger may be anything: a file that is truncated later (reading its
 * mapping raises SIGBUS), or a file on a dead file system. So first its seals are checked, which
 * only memfds have, then its size, and only then is it mapped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agents/assayd/ring_rules.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

/* Identifies a memory file. */
struct ring_identity {
	uint64_t device, inode;
};

/*
 * Map the memory read-only. The caller keeps `fd`, which is no longer needed. RING_TAKEN,
 * RING_KIND, RING_LENGTH or RING_RESOURCES.
 */
enum ring_refusal ring_memory_map(int fd, const void **ret, struct ring_identity *ret_identity);

/*
 * Fault in the first `size` bytes so that reading them cannot fail. False if the kernel lacks the
 * memory: then do not read it now.
 */
bool ring_memory_ready(const void *memory, size_t size);

/* After reading: give the pages back. */
void ring_memory_rest(const void *memory);
void ring_memory_unmap(const void *memory);

/*
 * Create a control page: mapped here, with a read-only descriptor for the job. Negative on
 * failure.
 */
int ring_memory_control(struct ring_control **ret, int *ret_fd);

/*
 * For a ring whose control page belonged to a previous assayd: map, for writing, the words of its
 * head that replace the page. The job can write there too, so do not trust what is read there.
 * Negative if the descriptor is not writable or there is no memory.
 */
int ring_memory_wants(int fd, struct ring_control **ret);

/* As ring_memory_ready(), for these words, before writing them. */
bool ring_memory_wants_ready(struct ring_control *wants);

/* For either kind of control. */
void ring_memory_unmap_control(struct ring_control *control);

/*
 * Close a stranger's descriptor. If it is not a memfd, a thread closes it, because its file
 * system may block; the number of such threads is limited.
 */
void ring_memory_discard(int fd);

/* False if too many are still being closed to receive more descriptors. */
bool ring_memory_may_receive(void);
