/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller is asked for: a view, of each argument, once or with --watch. */
#pragma once

struct request;

/* Print the view of the request's command. enum status. */
int ask_run(const struct request *request);
