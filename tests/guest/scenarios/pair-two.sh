# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Pairs of two hosts: node-a dials, node-b listens; this runs on both at once,
# and $GUEST says which one it is on. The steps meet over the wire: who dials
# waits until somebody listens.
host "$GUEST"
[ "$GUEST" = a ] && other=10.1.0.2 || other=10.1.0.1
echo the-token-of-both >/tmp/token
echo another-token >/tmp/other-token
wait_for 30 active rxe0
wait_for 30 ping -c 1 -W 1 "$other"

# step NAME OPTION...: run the probe; its samples, words and status.
step()
{
	echo "== $1"
	shift
	assay-probe-rnic-pair --size 4096 --depth 8 "$@" 2>&1
	echo "status $?"
}

listens()
{
	name=$1 port=$2
	shift 2
	step "$name" --listen "0.0.0.0:$port" --token-file /tmp/token "$@"
}

dials()
{
	name=$1 port=$2
	shift 2
	step "$name" --peer "$other:$port" --token-file /tmp/token "$@"
}

grown()
{
	[ "$(sent)" -gt $((begin + 200)) ]
}

on_a()
{
	dials good 7471 --budget 20s
	dials wrong-token 7473 --token-file /tmp/other-token --budget 30s
	dials wrong-version 7474 --budget 60s
	dials silent 7475 --budget 6s
	dials nobody 7476 --budget 2s
	dials wrong-gid 7477 --budget 20s --gid-index 77
	dials foreign 7479 --budget 90s --busy run
	dials killed 7478 --budget 40s
	step no-token-file --peer "$other:1" --token-file /nowhere
	step bad-address --peer nowhere --token-file /tmp/token
	wait_for 60 nc "$other" 7480 </dev/null
}

# stranger PORT FILE: a stranger that says what is in the file and nothing more.
stranger()
{
	nc -l -p "$1" <"$2" >/dev/null &
	stranger=$!
}

on_b()
{
	listens good 7471 --budget 40s
	listens wrong-token 7473 --budget 12s
	printf 'ASSAYOOB\000\000\000\002%032d' 0 >/tmp/newer
	stranger 7474 /tmp/newer
	first=$stranger
	mkfifo /tmp/never
	(exec sleep 60 >/tmp/never) &
	holder=$!
	stranger 7475 /tmp/never
	second=$stranger
	listens wrong-gid 7477 --budget 120s
	kill $first $second $holder 2>/dev/null
	# Somebody on this host alone, through the port that the other writes to.
	ib_write_bw -d rxe0 -s 4096 -t 2 -D 120 -F >/dev/null 2>&1 &
	server=$!
	wait_for 30 listening
	ib_write_bw -d rxe0 -s 4096 -t 2 -D 120 -F 127.0.0.1 >/dev/null 2>&1 &
	client=$!
	wait_for 30 uses ib_write_bw
	listens foreign 7479 --budget 90s --busy run
	kill $client $server
	begin=$(sent)
	assay-probe-rnic-pair --size 4096 --depth 8 --listen 0.0.0.0:7478 --token-file /tmp/token --budget 60s >/dev/null 2>&1 &
	victim=$!
	wait_for 60 grown
	kill -9 $victim
	# Until the other has seen it: a guest that ends takes its TCP with it.
	nc -l -p 7480 >/dev/null
}

resources
"on_$GUEST"
resources
