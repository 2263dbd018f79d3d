import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { bundlePage } from './bundle.ts'

// Writes the page to play with, as files for any server.
// Not `proof`, which is a page of the documentation: a server of files cannot have a page and a folder of one name.
const OUT = 'site/public/try'
mkdirSync(OUT, { recursive: true })
for (const file of ['index.html', 'proof.css']) copyFileSync(`site/proof/page/${file}`, `${OUT}/${file}`)
writeFileSync(`${OUT}/proof.js`, await bundlePage())
