/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --watch: a view asked for again and again. On a terminal it is redrawn in
 * place, rows that changed marked; elsewhere each change is printed below the
 * one before. A controller that is away is asked again, ever less often, and
 * the last picture says since when it is old.
 */
#pragma once

struct err;
struct link;
struct request;

/* Until SIGINT or SIGTERM, which are success, or an error that waiting does not mend. */
int watch_run(struct link *link, const struct request *request, struct err *err);
