# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# An all-reduce of two or three hosts, all of $GUESTS; this runs on all at once,
# and $GUEST says which one it is on. All begin each step together. $PART is what
# is tried: good, foreign (of two, as part of good; alone for who repeats it), slow (of three) or gone.
link=24 # Mbit/s of each: far less than an emulated processor sends, so that it is the links that are measured
host "$GUEST" 4200
shape eth0 ${link}mbit
wait_for 30 active rxe0
# shellcheck disable=SC2086
set -- $GUESTS

# among LETTERS: is this guest one of them?
among()
{
	case $1 in
	*"$GUEST"*) true ;;
	*) false ;;
	esac
}

# ranks LETTERS: the options by which they find each other, and the token file.
ranks()
{
	port=$((port + 1)) peers='' rank=0 place=0
	echo the-token-of-all >/tmp/token
	for letter; do
		peer=10.1.0.$(number "$letter"):$port
		peers=$peers${peers:+,}$peer
		echo "passed $peer" >>/tmp/token
		[ "$letter" = "$GUEST" ] && rank=$place
		place=$((place + 1))
	done
	options="--peers $peers --rank $rank --token-file /tmp/token"
}
port=7500

# run_probe OPTION...: its samples, words and status, and how long it took.
run_probe()
{
	begin=$(date +%s)
	# shellcheck disable=SC2086
	assay-probe-all-reduce $options "$@" 2>&1
	echo "status $?"
	echo "took $(($(date +%s) - begin))"
}

# step NAME LETTERS [OPTION...]: those hosts together.
step()
{
	# shellcheck disable=SC2046
	ranks $(echo "$2" | sed 's/./& /g')
	# shellcheck disable=SC2086
	meet $GUESTS
	among "$2" || return 0
	echo "== $1"
	shift 2
	run_probe "$@"
}

grown()
{
	[ "$(sent)" -gt $((begin_sent + 200)) ]
}

# fails NAME LETTERS VICTIM HOW: one of them goes away when it has begun to send.
fails()
{
	if [ "$GUEST" != "$3" ]; then
		step "$1" "$2" --budget 40s
		return
	fi
	# shellcheck disable=SC2046
	ranks $(echo "$2" | sed 's/./& /g')
	# shellcheck disable=SC2086
	meet $GUESTS
	begin_sent=$(sent)
	# shellcheck disable=SC2086
	assay-probe-all-reduce $options --budget 40s >/tmp/victim 2>&1 &
	victim=$!
	wait_for 60 grown
	"$4"
}

kill_probe()
{
	echo "== victim"
	kill -9 "$victim"
	wait "$victim"
}

# stranger OPTION...: somebody else's, one end on each of a and b, until it is killed. A try of a packet takes
# half a second (4.096 us x 2^17): what the probe has in the queue of the link goes first, for longer than the default.
stranger()
{
	ib_write_bw -d rxe0 -s 16384 -t 8 -n 1000000 -u 17 -F "$@" >/tmp/stranger 2>&1 &
	stranger=$!
}

# streams: the stranger is there and its packets move; the probe does not run meanwhile.
streams()
{
	begin_sent=$(sent)
	if ! uses ib_write_bw; then
		cat /tmp/stranger
		fail "the stranger has gone"
	fi
	wait_for 30 grown
}

# Somebody else on the ports of a and b, who goes on once the probe is under way, and is there when it has ended.
foreign()
{
	if [ "$GUEST" = b ]; then
		stranger
		wait_for 30 listening
	fi
	meet a b
	[ "$GUEST" = b ] || stranger 10.1.0.2
	wait_for 30 uses ib_write_bw
	streams
	step busy ab --budget 30s
	if [ "$GUEST" = a ]; then
		kill -STOP "$stranger"
		begin_sent=$(sent)
		(
			wait_for 60 grown
			kill -CONT "$stranger"
		) &
		waker=$!
	fi
	step foreign ab --budget 30s --busy run
	[ "$GUEST" = b ] || wait "$waker" || fail "nobody woke the stranger"
	streams
	# Once all are through: a peer that goes away takes the other with it.
	meet a b
	kill "$stranger"
	wait "$stranger"
}

on_good()
{
	step clean "$all" --budget 40s
	[ "$all" = ab ] || return 0
	step pieces ab --budget 40s --size 16384 --qps 3 --depth 4
	foreign
	echo "== unknown"
	sed -i /passed/d /tmp/token
	run_probe
}

on_foreign()
{
	foreign
}

# What leaves b goes at half the rate: all together, then each two.
on_slow()
{
	[ "$GUEST" = b ] && shape eth0 $((link / 2))mbit
	step ring "$all" --budget 40s
	step pair ab --budget 40s
	step pair bc --budget 40s
	step pair ca --budget 40s
}

on_gone()
{
	fails killed "$all" b kill_probe
	fails killed-first "$all" a kill_probe
	resources
	fails off "$all" "$last" power_off
}

resources
all=$(echo "$GUESTS" | tr -d ' ')
last=${GUESTS##* }
"on_$PART"
[ "$PART" = gone ] || resources
