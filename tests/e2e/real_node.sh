#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: node: worker threads, child processes, a server and its
# clients.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command /usr/bin/node

cat >"$TMP/workers.js" <<'END'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (!isMainThread) {
	let s = 0; const b = []; for (let i = 0; i < 20011; i++) { s += i % workerData; if (i % 101 == 0) b.push(Buffer.alloc(5003)); }
	parentPort.postMessage([workerData, s, b.length]);
} else {
	const all = []; let left = 5;
	for (let i = 3; i < 8; i++) new Worker(__filename, { workerData: i }).on('message', m => all.push(m)).on('exit', () => {
		if (--left == 0) { all.sort(); console.log(JSON.stringify(all)); process.exitCode = 21; } });
}
END
cat >"$TMP/children.js" <<'END'
const { execFileSync, spawn, fork, spawnSync } = require('child_process'); const zlib = require('zlib');
if (process.send && process.argv[2] == 'child') { process.on('message', n => { process.send(n * 2); process.disconnect(); }); return; }
console.log(execFileSync('sh', ['-c', 'echo hello']).toString().trim(), spawnSync('false').status, spawnSync('sh', ['-c', 'kill -9 $$']).signal);
const c = fork(__filename, ['child']); c.on('message', m => console.log(m)); c.send(53);
c.on('exit', code => { console.log('exit', code); zlib.gzip(Buffer.alloc(1000003, 'x'), (e, r) => console.log(r.length > 100, require('crypto').pbkdf2Sync('a', 'b', 1009, 16, 'sha256').toString('hex'))); });
END
cat >"$TMP/server.js" <<'END'
const http = require('http'); let got = 0, sum = 0;
const s = http.createServer((q, r) => { r.setHeader('x', 'y'); r.end('reply ' + q.url + ' ' + 'z'.repeat(1009)); });
s.listen(0, '127.0.0.1', () => { const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
	for (let i = 0; i < 1000; i++) http.get({ port: s.address().port, host: '127.0.0.1', path: '/' + i, agent }, r => { let n = 0; r.on('data', d => n += d.length); r.on('end', () => {
		sum += n; if (++got == 1000) { console.log(got, sum); agent.destroy(); s.close(); } }); }); });
END
# Code that V8 made has no tables and not always a frame record.
# shellcheck disable=SC2034 # of lib_real.sh
real_sane='--reentry 1000 --truncated 0.2'
real_same workers -- /usr/bin/node "$TMP/workers.js"
real_same children -- /usr/bin/node "$TMP/children.js"
real_same server -- /usr/bin/node "$TMP/server.js"
# Debian's own node writes where it was.
# shellcheck disable=SC2034
real_sed='s/0x[0-9a-f]+/0x/'
real_same error -- /usr/bin/node -e 'process.on("exit", c => console.log("leaving", c)); setTimeout(() => process.abort(), 50)'
