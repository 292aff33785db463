/* SPDX-License-Identifier: Apache-2.0 */
/* The controller, as assayd would meet it: is it there, does it take this host, what time is it? */
#pragma once

struct doctor;

/* Waits for 10 s at most. */
void doctor_ask(struct doctor *d);
