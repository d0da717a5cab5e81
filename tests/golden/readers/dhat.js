// SPDX-License-Identifier: MIT
//
// Opens a file with the code of DHAT's viewer, without a browser:
//   node dhat.js dh_view.js FILE
// Prints the totals of its tree (all bytes, blocks, bytes at the peak, at the end), then the
// heaviest first level by bytes at the end: bytes and the texts of its frames.
'use strict';
const fs = require('fs');

const [script, file] = process.argv.slice(2);
const root = new Function('text', 'document', fs.readFileSync(script, 'utf8') + `
    gData = JSON.parse(text);
    gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0};
    buildTree();
    return [gRoot, gData.ftbl];`)(fs.readFileSync(file, 'utf8'), {});
const [tree, texts] = root;
console.log([tree._totalBytes, tree._totalBlocks, tree._atTGmaxBytes, tree._atTEndBytes].join(' '));
const kids = (tree._kids || [tree]).slice().sort((a, b) => b._atTEndBytes - a._atTEndBytes);
console.log([kids[0]._atTEndBytes, ...kids[0]._frames.map((frame) => texts[frame])].join('\t'));
