/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks NCCL's RAS on this host for its VERBOSE STATUS, under the event loop: one question at a
 * time, by who looks after a job that stands still, and by nobody else.
 *
 * It touches the job: a thread of NCCL in one of its processes answers. So the caller has
 * `hang.ras` of assayd.yaml on, knows the version of NCCL in that process, and asks only of a job
 * whose ranks run and have stood still for a while: never while communicators are made or taken
 * down, which has crashed jobs (NVIDIA/nccl issues 1669, 1718, 2346).
 *
 * RAS_CONNECT_US to connect, RAS_ANSWER_US for everything; HANG_RAS_ANSWER_MAX bytes at most.
 * Whose answer it is, lib/hang/hang_ras.h finds out: the port is shared by all jobs of the host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct ras_client;
struct sd_event;

#define RAS_CONNECT_US (1 * USEC_PER_SEC)
/* What it is told to take, a leg, and its own time to put the answer together. */
#define RAS_LEG_S 10
#define RAS_ANSWER_US (25 * USEC_PER_SEC)

/*
 * `text` (borrowed, [size] and a NUL) is the answer; NULL: there is none, and `why` says so in a
 * sentence.
 */
typedef void ras_client_done(void *context, const char *text, size_t size, const char *why);

/* `address`: "ADDRESS:PORT" as ras_endpoint.h has it; NULL: localhost, by IPv4 and then IPv6. */
struct ras_client *ras_client_new(struct sd_event *event, const char *address,
				  ras_client_done *done, void *context);

/* A question under way is dropped, without `done`. */
void ras_client_free(struct ras_client *client);

/*
 * Ask; `done` is called once, later. `version` is that of NCCL in the processes of the job, such as
 * "2.28.9"; NULL or "": nobody knows, and it is not asked. -EOPNOTSUPP: a version that is not
 * listed as safe to ask (hang_ras_version_find()); -EBUSY while one is asked; -errno of the socket.
 */
int ras_client_ask(struct ras_client *client, const char *version, struct err *err);

bool ras_client_asks(const struct ras_client *client);

/* Wait for an answer so long, in place of RAS_ANSWER_US: for tests. */
void ras_client_hurry(struct ras_client *client, uint64_t answer_us);
