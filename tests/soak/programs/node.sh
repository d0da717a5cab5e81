#!/bin/sh
# SPDX-License-Identifier: MIT
# node gives the same answers under the library: buffers, strings, workers, child processes.
. "$(dirname "$0")/../../programs/same.sh"
need node

cat >"$place/work.js" <<'END'
const { Worker, isMainThread, parentPort } = require("worker_threads");
const crypto = require("crypto"), zlib = require("zlib"), { execFileSync } = require("child_process");
function work(k) {
    const map = new Map(); let text = "";
    for (let i = 0; i < 60000; i++) { map.set("k" + i * k, { i, list: [i, i + 1, "s" + i] }); text += i % 10; }
    let sum = 0; for (const [key, v] of map) sum += key.length + v.list[1];
    return sum + ":" + crypto.createHash("sha1").update(text).digest("hex");
}
if (!isMainThread) { parentPort.postMessage(work(3)); } else {
    console.log(work(1));
    const buffers = []; for (let i = 0; i < 2000; i++) buffers.push(Buffer.alloc(i * 37 + 1, i));
    const all = Buffer.concat(buffers); console.log(all.length, crypto.createHash("md5").update(all).digest("hex"));
    console.log(zlib.gunzipSync(zlib.gzipSync(all)).equals(all), JSON.stringify(JSON.parse('{"a":[1,2,{"b":3}]}')));
    console.log(execFileSync(process.execPath, ["-e", "console.log(7 * 6)"]).toString().trim());
    let left = 4; for (let i = 0; i < 4; i++) new Worker(__filename).on("message", (m) => { if (--left === 0) console.log(m); });
}
END
work() {
    node "$place/work.js"
}
same "node" work
finish
