/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries NCCL's RAS on this host for its VERBOSE STATUS, under the event loop, one query at a
 * time. Only used to examine a hung job.
 *
 * A query touches the job: an NCCL thread in one of its processes answers. So the caller requires
 * `hang.ras` in assayd.yaml, knows the NCCL version of that process, and queries only a job whose
 * ranks run and have stood still for a while: never while communicators are being created or
 * destroyed, which has crashed jobs (NVIDIA/nccl issues 1669, 1718, 2346).
 *
 * Limits: RAS_CONNECT_US to connect, RAS_ANSWER_US in total, HANG_RAS_ANSWER_MAX bytes. All jobs
 * of a host share the port; lib/hang/hang_ras.h determines whose answer it is.
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
/*
 * Timeout passed to RAS per leg of its collection, and ours, which adds time to assemble the
 * answer.
 */
#define RAS_LEG_S 10
#define RAS_ANSWER_US (25 * USEC_PER_SEC)

/*
 * `text` (borrowed, [size] and a NUL) is the answer; NULL: none, for the reason in `why`, a
 * sentence.
 */
typedef void ras_client_done(void *context, const char *text, size_t size, const char *why);

/* `address`: "ADDRESS:PORT" as in ras_endpoint.h; NULL: localhost, IPv4 first, then IPv6. */
struct ras_client *ras_client_new(struct sd_event *event, const char *address,
				  ras_client_done *done, void *context);

/* Drops a running query, without calling `done`. */
void ras_client_free(struct ras_client *client);

/*
 * Send a query; `done` is called once, later. `version` is the NCCL version of the job's
 * processes, such as "2.28.9"; if it is NULL or "" (unknown), nothing is sent. -EOPNOTSUPP: the
 * version is not known to be safe to query (hang_ras_version_find()); -EBUSY while a query runs;
 * -errno of the socket.
 */
int ras_client_ask(struct ras_client *client, const char *version, struct err *err);

bool ras_client_asks(const struct ras_client *client);

/* For tests: use this timeout instead of RAS_ANSWER_US. */
void ras_client_hurry(struct ras_client *client, uint64_t answer_us);
