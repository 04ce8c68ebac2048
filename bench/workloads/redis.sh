#!/bin/sh
# SPDX-License-Identifier: MIT
# The load on a redis server: REQUESTS of each of eight commands over its unix socket,
# sixteen in flight a connection, so that the server works rather than waits. Usage:
# redis.sh SOCKET REQUESTS
exec redis-benchmark -s "$1" -n "$2" -c 20 -P 16 -r 100000 -d 64 -q \
	-t set,get,incr,lpush,rpop,sadd,hset,zadd
