# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Is the bench itself sound? perftest from rxe0 to rxe1, free and with that
# direction of the wire shaped; MB/s.
rnics 2
wait_for 10 active rxe0
wait_for 10 active rxe1

measure()
{
	ib_write_bw -d rxe1 -s 16384 -t 8 -n 200 -Q 1 -F >/tmp/server 2>&1 &
	wait_for 30 listening
	ib_write_bw -d rxe0 -s 16384 -t 8 -n 200 -Q 1 -F 127.0.0.1 >/tmp/client 2>&1 ||
		fail "$(cat /tmp/client /tmp/server)"
	wait
	awk '$1 == 16384 { print $4 }' /tmp/client
}

echo "free $(measure)"
shape eth0 8mbit
echo "shaped $(measure)"
