import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { bundlePage } from './bundle.ts'

// Writes the page to play with, as files for any server.
const OUT = 'site/public/proof'
mkdirSync(OUT, { recursive: true })
for (const file of ['index.html', 'proof.css']) copyFileSync(`site/proof/page/${file}`, `${OUT}/${file}`)
writeFileSync(`${OUT}/proof.js`, await bundlePage())
