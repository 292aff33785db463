# SPDX-License-Identifier: Apache-2.0
# Words for scenarios; each runs inside a guest.
# shellcheck shell=sh

# The shell of busybox takes its own ip and tc before those of iproute2.
ip()
{
	/usr/sbin/ip "$@"
}

tc()
{
	/usr/sbin/tc "$@"
}

fail()
{
	echo "guest: $*"
	exit 1
}

# wait_for SECONDS COMMAND...: until it succeeds, tried each $pace microseconds (20000).
wait_for()
{
	end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$end" ] || fail "waited in vain for: $*"
		usleep "${pace:-20000}"
	done
}

# neighbour DEVICE ADDRESS OTHER_DEVICE: no ARP between the two ends of one host.
neighbour()
{
	ip neigh replace "$2" lladdr "$(cat "/sys/class/net/$3/address")" dev "$1" nud permanent
}

# rnics N: rxe0 to rxe<N-1> (even N), in pairs over veth pairs eth0-eth1, eth2-eth3...
# One kernel has both ends of a cable, so its own addresses must be reached over
# the wire: `local` is asked only for what came in by it.
rnics()
{
	for key in all default; do
		echo 1 >/proc/sys/net/ipv4/conf/$key/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/$key/rp_filter
	done
	ip rule add pref 20 lookup 100
	ip rule add pref 30 lookup local
	n=0
	while [ $n -lt "$1" ]; do
		rnic_pair $n $((n + 1))
		n=$((n + 2))
	done
	ip rule del pref 0
}

rnic_pair()
{
	ip link add "eth$1" mtu 4200 type veth peer name "eth$2" mtu 4200
	for i in "$1" "$2"; do
		echo 1 >"/proc/sys/net/ipv4/conf/eth$i/accept_local"
		echo 0 >"/proc/sys/net/ipv4/conf/eth$i/rp_filter"
		ip addr add "10.0.0.$((i + 1))/32" dev "eth$i"
		ip link set "eth$i" up
		ip rule add pref "$((10 + i % 8))" iif "eth$i" lookup local
	done
	ip route add "10.0.0.$(($2 + 1))/32" dev "eth$1" src "10.0.0.$(($1 + 1))" table 100
	ip route add "10.0.0.$(($1 + 1))/32" dev "eth$2" src "10.0.0.$(($2 + 1))" table 100
	neighbour "eth$1" "10.0.0.$(($2 + 1))" "eth$2"
	neighbour "eth$2" "10.0.0.$(($1 + 1))" "eth$1"
	for i in "$1" "$2"; do
		rdma link add "rxe$i" type rxe netdev "eth$i" || fail "no Soft-RoCE on eth$i"
	done
}

# active RNIC: its port is up.
active()
{
	grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# A program waits for its peer where perftest does.
listening()
{
	netstat -ltn | grep -q ":18515 "
}

# uses COMMAND: it has connected queue pairs; who is only written to has no need to be ready to send.
uses()
{
	rdma resource show qp | grep -q "state RT[RS].*comm $1"
}

# What the kernel holds of each RNIC.
resources()
{
	echo "== resources"
	rdma resource show
}

# sent [RNIC]: packets that it sent.
sent()
{
	cat "/sys/class/infiniband/${1:-rxe0}/ports/1/hw_counters/sent_pkts"
}

# An ordinary user, who may not open the device nodes.
add_user()
{
	echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
	chmod 600 /dev/infiniband/uverbs*
	mkdir -p /tmp/run && chmod 777 /tmp/run
}

# as_user LINE: a command line of a shell, which begins with a program of the build.
as_user()
{
	su -s /bin/sh nobody -c "ASSAY_RUN_DIR=/tmp/run ASSAY_STATE_DIR=/tmp/run /usr/bin/$1" 2>&1
}

# shape DEVICE RATE: what leaves it is slow, the other way is not.
shape()
{
	tc qdisc replace dev "$1" root tbf rate "$2" burst 64kb latency 400ms
}

# number LETTER: that of a guest, and the last of its address.
number()
{
	case $1 in
	a) echo 1 ;;
	b) echo 2 ;;
	c) echo 3 ;;
	*) fail "no guest '$1'" ;;
	esac
}

# host LETTER [MTU]: one of several guests on a network, node-a, node-b... at 10.1.0.1, 10.1.0.2..., with rxe0.
host()
{
	hostname "node-$1"
	ip link set eth0 mtu "${2:-1500}"
	ip addr add "10.1.0.$(number "$1")/24" dev eth0
	ip link set eth0 up
	rdma link add rxe0 type rxe netdev eth0 || fail "no Soft-RoCE on eth0"
}

# meet LETTER...: all of them, $GUEST among them, have come here before any goes on. The first waits for the others.
meet()
{
	meetings=$((${meetings:-0} + 1))
	host_of_meeting=$1
	shift
	if [ "$GUEST" = "$host_of_meeting" ]; then
		for whom; do
			nc -l -p $((9000 + 10 * meetings + $(number "$whom"))) >/dev/null
		done
		for whom; do
			wait_for 120 nc "10.1.0.$(number "$whom")" $((9500 + meetings)) </dev/null
		done
		return
	fi
	wait_for 120 nc "10.1.0.$(number "$host_of_meeting")" $((9000 + 10 * meetings + $(number "$GUEST"))) </dev/null
	nc -l -p $((9500 + meetings)) >/dev/null
}

# power_off: this guest is gone from one moment to the next; what it printed is kept.
power_off()
{
	echo "guest: status 0"
	reboot -f
}
