# SPDX-License-Identifier: Apache-2.0
# tests/fleet: simulated fleets that feed a real controller. Included by Makefile.am.
EXTRA_DIST += tests/fleet/faults.py tests/fleet/held_out.py tests/fleet/hosts.py tests/fleet/job_trace.py tests/fleet/silicon.py \
	tests/fleet/simulate.py tests/fleet/wiring.py
