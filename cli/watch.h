/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --watch: repeats a view. On a terminal it is redrawn in place, with changed rows marked;
 * elsewhere each change is printed below the previous one. If the controller is unreachable it is
 * retried with growing intervals, and the last picture says how old it is.
 */
#pragma once

struct err;
struct link;
struct request;

/* Runs until SIGINT or SIGTERM, which are success, or an error that retrying cannot fix. */
int watch_run(struct link *link, const struct request *request, struct err *err);
