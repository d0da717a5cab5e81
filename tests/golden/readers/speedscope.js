// SPDX-License-Identifier: MIT
//
// Opens files with the importer of an installed speedscope, without a browser:
//   node speedscope.js FOLDER-OF-ITS-RELEASE FILE...
// For each file and each profile in it, a line: file, profile, unit, total weight, the heaviest
// function by self weight, that weight.
'use strict';
const fs = require('fs');
const path = require('path');

const folder = process.argv[2];
const bundle = fs.readdirSync(folder).find((name) => /^speedscope.*\.js$/.test(name));
const source = fs.readFileSync(path.join(folder, bundle), 'utf8');
const found = /loadFileFromBase64:\(\w+,\w+\)=>\{this\.loadProfile\(\(\)=>(\w+)\(/.exec(source);
if (!found) {
    console.error('this speedscope has no importer that we know');
    process.exit(77);
}

// Whatever the page asks of a browser is nothing.
const nothing = new Proxy(function () {}, {
    get: (target, key) => (key === Symbol.toPrimitive ? () => '' : nothing),
    apply: () => nothing,
    construct: () => nothing,
    set: () => true,
});
const start = source.indexOf('(()=>{') + '(()=>{'.length;
const opened = source.slice(0, start) + `hook((a,b)=>${found[1]}(a,b));` + source.slice(start);
let load;
try {
    new Function('hook', 'window', 'document', 'navigator', 'location', 'localStorage', opened)(
        (importer) => { load = importer; }, nothing, nothing, nothing, nothing, nothing);
} catch (error) {
    // The page itself may fail; its functions are there.
}

console.log = () => {};
(async () => {
    for (const file of process.argv.slice(3)) {
        const group = await load(path.basename(file), fs.readFileSync(file).toString('base64'));
        for (const profile of group.profiles) {
            let best = null;
            profile.forEachFrame((frame) => {
                if (!best || frame.getSelfWeight() > best.getSelfWeight())
                    best = frame;
            });
            process.stdout.write([path.basename(file), profile.getName(),
                profile.getWeightUnit ? profile.getWeightUnit() : '',
                profile.getTotalNonIdleWeight(), best ? best.name : "", best ? best.getSelfWeight() : 0].join('\t') + '\n');
        }
    }
})().catch((error) => {
    console.error(String(error && error.stack || error));
    process.exit(1);
});
