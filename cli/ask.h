/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a view of the controller's data, for each argument, once or with --watch. */
#pragma once

struct request;

/* Print the view of the request's command. Returns enum status. */
int ask_run(const struct request *request);
