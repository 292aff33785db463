#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fake of NCCL's RAS thread: the protocol of its port (from NVIDIA/nccl, src/ras/client_support.cc).

ras_server.py ANSWER [--address A] [--port N] [--no-json] [--how HOW]
prints the port it listens on, and then a line for each command it gets. ANSWER is a file with the response to VERBOSE STATUS.
It serves until the end of its standard input. HOW:
  whole    at once, then the connection is closed (default)
  slow     in pieces, each when the previous one has been read
  silent   it reads the command and does not answer
  dumb     it accepts the connection and sends nothing at all
  cut      half of it, then the connection is closed
  huge     it never ends
  strange  a web server on this port
"""
import argparse
import os
import select
import socket
import sys

PIECE = 7


def answer_to(command, options):
    """The line to send back; None for STATUS, which gets ANSWER."""
    words = command.lower()
    if words.startswith("client protocol "):
        return "SERVER PROTOCOL 2\n"
    if words.startswith("timeout "):
        value = command[len("timeout "):]
        return "OK\n" if value.isdigit() else f"ERROR: Invalid timeout value {value}\n"
    if words.startswith("set format ") and not options.no_json:
        kind = command[len("set format "):]
        return "OK\n" if kind.lower() in ("text", "json") else f"ERROR: Invalid format {kind}\n"
    return None if words in ("status", "verbose status") else f"ERROR: Unknown command {command}\n"


def send_status(client, options):
    with open(options.answer, "rb") as file:
        answer = file.read()
    if options.how == "slow":
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(0, len(answer), PIECE):
            client.sendall(answer[i:i + PIECE])
    elif options.how == "cut":
        client.sendall(answer[:len(answer) // 2])
    elif options.how == "huge":
        while True:
            client.sendall(answer)
    elif options.how != "silent":
        client.sendall(answer)
    return options.how != "silent"


def serve(client, options):
    """Serves one client until it disconnects or has its answer."""
    text = b""
    while True:
        ready = select.select([client, sys.stdin], [], [])[0]
        if sys.stdin in ready:
            sys.exit(0)
        more = client.recv(1024)
        if not more:
            return
        if options.how == "dumb":
            continue
        if options.how == "strange":
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        text += more
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            command = line.rstrip(b"\r").decode(errors="replace")
            print(command, flush=True)
            said = answer_to(command, options)
            if said is not None:
                client.sendall(said.encode())
            elif send_status(client, options):
                return


def main():
    options = argparse.ArgumentParser()
    options.add_argument("answer")
    options.add_argument("--address", default="127.0.0.1")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--no-json", action="store_true")
    options.add_argument("--how", default="whole")
    options = options.parse_args()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((options.address, options.port))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    while True:
        ready = select.select([listener, sys.stdin], [], [])[0]
        if sys.stdin in ready:
            return
        client = listener.accept()[0]
        with client:
            try:
                serve(client, options)
            except (BrokenPipeError, ConnectionResetError):
                pass


if __name__ == "__main__":
    main()
    os._exit(0)
