# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The state of RNICs on Soft-RoCE: traffic, a link that goes down and comes
# back, one that stays down, a device that is gone.
export ASSAY_STATE_DIR=/tmp/state
rnics 2
wait_for 10 active rxe0
wait_for 10 active rxe1

# step NAME: run the probe; its samples, words and status.
step()
{
	echo "== $1"
	shift
	assay-probe-rnic-state "$@" 2>&1
	echo "status $?"
}

inactive()
{
	! active "$1"
}

step first
ib_write_bw -d rxe1 -s 16384 -t 8 -n 200 -Q 1 -F >/tmp/server 2>&1 &
wait_for 30 listening
ib_write_bw -d rxe0 -s 16384 -t 8 -n 200 -Q 1 -F 127.0.0.1 >/tmp/client 2>&1 || fail "$(cat /tmp/client /tmp/server)"
wait
step traffic

ip link set eth1 down
wait_for 10 inactive rxe0
ip link set eth1 up
wait_for 10 active rxe0
step flap

ip link set eth1 down
wait_for 10 inactive rxe0
step down
# An hour later: the last run and the moment when it went down are moved back.
sed -i 's/"\(uptime_s\|down_since\)":\([0-9]\)/"\1":-3600\2/g' /tmp/state/probe/rnic-state.json
step long-down
ip link set eth1 up
wait_for 10 active rxe0

rdma link delete rxe1
step lost
