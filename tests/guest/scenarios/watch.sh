# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# assayd on Soft-RoCE, with the kernel's own messages: a cable that is pulled,
# a device that is removed, a network device that takes its device with it, and
# somebody who writes into the kernel log. What it told is printed at the end.
export ASSAY_STATE_DIR=/tmp/state ASSAY_RUN_DIR=/tmp/run ASSAY_CONF_DIR=/tmp/conf ASSAY_CONTROLLER=http://127.0.0.1:1
mkdir -p /tmp/state /tmp/run /tmp/conf
echo '{"v": 1, "node": "guest"}' >/tmp/conf/assayd.yaml
rnics 4
for i in 0 1 2 3; do
	wait_for 10 active "rxe$i"
done

# told CHECK SUBJECT WORD: some report has such a sample, with the word in it.
told()
{
	cat /tmp/state/spool/*.json | tr '{' '\n' | grep "\"check\":\"$1\"" | grep "\"subject\":\"$2\"" | grep -q "$3"
}

follows_the_log()
{
	for fd in "/proc/$daemon/fd"/*; do
		[ "$(readlink "$fd")" = /dev/kmsg ] && return
	done
	return 1
}

assayd 2>/tmp/log &
daemon=$!
trap "cat /tmp/log" EXIT
wait_for 60 follows_the_log
# The first report has all ports: what is known of them is known by now.
ip link set eth3 down
wait_for 60 told rnic.down_time rxe0:1 '"ok":true'

ip link set eth1 down
wait_for 60 told rnic.down_time rxe0:1 link-down
ip link set eth1 up
wait_for 60 told rnic.down_time rxe0:1 'has been up again since'

echo '<0>NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.' >/dev/kmsg
rdma link delete rxe1
wait_for 60 told rnic.removed rxe1:1 '"severity":"warn"'
wait_for 90 told rnic.removed rxe1:1 device-lost
ip link del eth2
wait_for 60 told rnic.removed rxe2:1 '"severity":"warn"'
wait_for 60 told rnic.removed rxe3:1 '"severity":"warn"'

trap - EXIT
kill $daemon
wait $daemon
echo "status $?"
echo "== log"
cat /tmp/log
echo "== kernel"
dmesg | grep -E 'infiniband|rxe|NVRM'
echo "== verdict"
cat /tmp/state/verdict.json
echo
echo "== reports"
for report in /tmp/state/spool/*.json; do
	cat "$report"
	echo
done
