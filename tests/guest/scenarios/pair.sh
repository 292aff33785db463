# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Pairs of ports of one host: a good run, then what goes wrong.

# step NAME [OPTION...]: run the probe; its samples, words and status.
step()
{
	echo "== $1"
	shift
	assay-probe-rnic-pair --size 16384 --depth 16 "$@" 2>&1
	echo "status $?"
}

# begin [OPTION...]: the probe beside what follows, once it writes.
begin()
{
	sent_before=$(sent)
	assay-probe-rnic-pair --size 16384 --depth 16 "$@" >/tmp/probe 2>&1 &
	probe=$!
	wait_for 20 writing
}

writing()
{
	[ "$(sent)" -gt $((sent_before + 200)) ]
}

# finish NAME: what the probe that was begun printed.
finish()
{
	wait "$probe"
	status=$?
	echo "== $1"
	cat /tmp/probe
	echo "status $status"
}

rnics 2
wait_for 10 active rxe0
wait_for 10 active rxe1
resources
step connect --budget 20s --connect-only
step good --budget 15s
step more --budget 14s --send --bidirectional

# Somebody else on both devices: perftest, until it is killed.
ib_write_bw -d rxe1 -s 16384 -t 8 -D 60 -F >/dev/null 2>&1 &
server=$!
wait_for 30 listening
ib_write_bw -d rxe0 -s 16384 -t 8 -D 60 -F 127.0.0.1 >/dev/null 2>&1 &
client=$!
wait_for 30 uses ib_write_bw
step busy --budget 20s
step busy-run --budget 20s --connect-only --busy run
# Stopped, so that it goes on only when the probe is under way.
kill -STOP $client
begin --budget 12s --cells 'rxe0:1>rxe1:1' --busy run
kill -CONT $client
finish foreign-meanwhile
kill $client $server
wait $client $server

# Soft-RoCE does not stop the timer of a queue that has nothing under way: now and
# then it fires too early and what was just sent is sent again. The other end
# counts every packet that it has had before.
twice()
{
	cat /sys/class/infiniband/rxe1/ports/1/hw_counters/duplicate_request
}

before=$(sent) before_twice=$(twice)
step counted --depth 4 --budget 8s --cells 'rxe0:1>rxe1:1'
echo "packets $(($(sent) - before)), twice $(($(twice) - before_twice))"

shape eth0 16mbit
step shaped --budget 15s
tc qdisc del dev eth0 root

tc qdisc add dev eth0 root netem loss 1%
step lossy --budget 12s --cells 'rxe0:1>rxe1:1'
tc qdisc del dev eth0 root

step wrong-gid --budget 20s --gid-index 77
step no-such-cell --budget 20s --cells 'rxe0:1>rxe7:1'

# What lies between cuts large packets: this queue takes none above its burst.
tc qdisc add dev eth0 root tbf rate 100mbit burst 2000 latency 400ms
step small-between --budget 20s --connect-only --cells 'rxe0:1>rxe1:1'
tc qdisc del dev eth0 root

ip link set eth1 mtu 1500
step mtu --budget 12s --cells 'rxe0:1>rxe1:1'
ip link set eth1 mtu 4200

# A host as it is without any of that: the kernel drops its own addresses that
# come in by the wire, so that nobody is found. Then the probe's advice is taken.
accept()
{
	for key in all eth0 eth1; do
		echo "$1" >/proc/sys/net/ipv4/conf/$key/accept_local
	done
}
ip rule add pref 0 lookup local
ip rule del pref 20
ip route add 10.0.0.2/32 dev eth0 src 10.0.0.1
ip route add 10.0.0.1/32 dev eth1 src 10.0.0.2
ip neigh del 10.0.0.2 dev eth0
ip neigh del 10.0.0.1 dev eth1
accept 0
step no-accept-local --budget 20s
accept 1
step accept-local --budget 20s --connect-only
ip rule add pref 20 lookup 100
ip rule del pref 0
neighbour eth0 10.0.0.2 eth1
neighbour eth1 10.0.0.1 eth0

# Dead between live ports: everything that leaves is lost.
tc qdisc add dev eth0 root netem loss 100%
step dead --budget 10s --cells 'rxe0:1>rxe1:1'
tc qdisc del dev eth0 root

begin --budget 14s --cells 'rxe0:1>rxe1:1'
ip link set eth1 down
finish taken-down
step port-down --budget 20s --cells 'rxe0:1>rxe1:1'
step no-active --budget 20s
ip link set eth1 up
wait_for 10 active rxe1

echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6
ip addr flush dev eth1
step no-address --budget 20s --connect-only
ip addr add 10.0.0.2/32 dev eth1

# As an ordinary user: the device node, then the limit of locked memory.
add_user
user()
{
	echo "== $1"
	as_user "assay-probe-rnic-pair --size 16384 --depth 16 --budget 20s"
	echo "status $?"
}
user no-permission
chmod 666 /dev/infiniband/uverbs*
# shellcheck disable=SC3045 # the shell of busybox knows it
(ulimit -l 64 && user small-memlock)

# As two hosts do: a peer that never says a word, and one that is killed half-way.
hostname node-a
echo the-token-of-both >/tmp/token
peer()
{
	name=$1
	shift
	step "$name" --token-file /tmp/token "$@"
}
mkfifo /tmp/never
(exec sleep 60 >/tmp/never) &
holder=$!
nc -l -p 7475 </tmp/never >/dev/null &
stranger=$!
peer silent --peer 127.0.0.1:7475 --budget 6s
kill $holder $stranger 2>/dev/null
wait $holder $stranger

ASSAY_RUN_DIR=/tmp/run assay-probe-rnic-pair --listen 127.0.0.1:7478 --token-file /tmp/token --budget 40s >/dev/null 2>&1 &
victim=$!
begin --peer 127.0.0.1:7478 --token-file /tmp/token --budget 20s
kill -9 $victim
finish killed
resources

begin --budget 10s --cells 'rxe0:1>rxe1:1'
rdma link delete rxe1 &
finish removed
wait

# Through a router, this same kernel, whose far end goes down: nobody took down the port.
ip link add eth2 mtu 4200 type veth peer name eth3 mtu 4200
for i in 2 3; do
	echo 1 >"/proc/sys/net/ipv4/conf/eth$i/accept_local"
	echo 0 >"/proc/sys/net/ipv4/conf/eth$i/rp_filter"
	ip link set "eth$i" up
done
echo 1 >/proc/sys/net/ipv4/ip_forward
ip addr add 10.0.0.3/32 dev eth2
for i in 1 3; do
	ip rule add pref 5 iif "eth$i" lookup 200
done
ip rule add pref 12 iif eth2 lookup local
for table in 100 200; do
	[ $table = 100 ] && from=eth0 to=eth2 || from=eth3 to=eth1
	ip route add 10.0.0.3/32 dev "$from" table "$table"
	ip route replace 10.0.0.1/32 dev "$to" table "$table"
done
neighbour eth0 10.0.0.3 eth1
neighbour eth3 10.0.0.3 eth2
neighbour eth2 10.0.0.1 eth3
neighbour eth1 10.0.0.1 eth0
rdma link add rxe1 type rxe netdev eth2 || fail "no Soft-RoCE on eth2"
wait_for 10 active rxe1
begin --budget 14s --cells 'rxe0:1>rxe1:1'
ip link set eth3 down
finish down-meanwhile
echo "== left"
rdma resource show
