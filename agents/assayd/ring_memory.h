/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a ring, and of the page that says what is to be recorded (ring_layout.h).
 *
 * A descriptor of a stranger may be anything: of a file that is cut later (whoever reads its pages
 * is ended by SIGBUS), of a file system that never answers. So the first that is asked of it is its
 * seals, which only memory has, then its size, and only then is it mapped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agents/assayd/ring_rules.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

/* What tells one from the other. */
struct ring_identity {
	uint64_t device, inode;
};

/*
 * Map it, read only. The descriptor stays the caller's, and is not needed any more. RING_TAKEN,
 * RING_KIND, RING_LENGTH or RING_RESOURCES.
 */
enum ring_refusal ring_memory_map(int fd, const void **ret, struct ring_identity *ret_identity);

/*
 * Make its first `size` bytes readable without a fault, as far as the kernel has memory. False: it
 * has not, and it is not to be read now.
 */
bool ring_memory_ready(const void *memory, size_t size);

/* It was read: the pages are no longer ours. */
void ring_memory_rest(const void *memory);
void ring_memory_unmap(const void *memory);

/*
 * A page of ours: mapped, and a descriptor for the job, by which it can be read and nothing else.
 * Negative: there is none.
 */
int ring_memory_control(struct ring_control **ret, int *ret_fd);

/*
 * Of a ring whose page is another assayd's: the words of its head that take the page's place,
 * mapped for writing. The job can write there too: nothing that is read there is to be believed.
 * Negative: the descriptor is not for writing, or there is no memory.
 */
int ring_memory_wants(int fd, struct ring_control **ret);

/* As ring_memory_ready(), of these words, before they are written. */
bool ring_memory_wants_ready(struct ring_control *wants);

/* Of either kind. */
void ring_memory_unmap_control(struct ring_control *control);

/*
 * Close a descriptor of a stranger. What is no memory is closed by a thread, for its file system
 * may take any time to let go of it; a few of them at once.
 */
void ring_memory_discard(int fd);

/* False: so many are being closed that no more are to be received. */
bool ring_memory_may_receive(void);
