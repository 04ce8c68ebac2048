#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: openssl: keys, encryption, digests, and a handshake over
# loopback.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command openssl bash

# shellcheck disable=SC2016 # expanded by the shell under test
real_same enc -- sh -c 'seq 1 20011 | openssl enc -aes-256-cbc -pbkdf2 -pass pass:x | tee file |
	openssl enc -d -aes-256-cbc -pbkdf2 -pass pass:x | openssl md5; wc -c <file
	openssl dgst -sha256 -hmac key /etc/passwd; openssl enc -d -aes-256-cbc -in /etc/passwd -k x'
# shellcheck disable=SC2016
real_same rsa -- sh -c 'openssl genrsa -out k 2048 2>/dev/null && openssl rsa -in k -check -noout &&
	openssl req -x509 -key k -subj /CN=x -days 3 -out c && openssl verify -CAfile c c'
real_same wrong -- openssl x509 -in /dev/null -noout
real_valgrind wrong openssl x509 -in /dev/null -noout
# shellcheck disable=SC2034 # of lib_real.sh
# Its own clock decides how often: only that it works, and ends.
real_sed='s/[0-9.]+k?( *\/s)?/N/g; s/N( +N)*/N/g; s/ +/ /g; s/: N .*/: N/'
real_same speed -- openssl speed -seconds 1 -bytes 1024 sha256

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$TMP/key" -out "$TMP/cert" -subj /CN=x -days 3 2>/dev/null
# The server and eleven clients, one of them going away at once.
cat >"$TMP/handshake" <<END
exec 3< <(exec openssl s_server -accept 127.0.0.1:0 -key $TMP/key -cert $TMP/cert -naccept 11 -WWW 2>&1)
server=\$!
while read -r line <&3; do case \$line in ACCEPT*) break ;; esac; done
port=\${line##*:}
echo hello >file
for i in 1 2 3 4 5 6 7 8 9 10; do
	printf 'GET /file HTTP/1.0\r\n\r\n' | openssl s_client -quiet -connect 127.0.0.1:\$port -CAfile $TMP/cert \
		2>/dev/null | tail -n 1
done
openssl s_client -connect 127.0.0.1:\$port </dev/null >/dev/null 2>&1
wait \$server; echo "server \$?"
END
real_sed=
real_same handshake -- bash "$TMP/handshake"
expect_eq "ten replies" "$(grep -c '^hello' "$TMP/handshake.exact.out")" 10
