/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl doctor: can this machine use the controller, and does the controller protect the fleet
 * now? Prints a line per check, like `assay doctor` on a host. Read-only.
 */
#pragma once

struct request;

/* The command. Returns enum status. */
int doctor_run(const struct request *request);
