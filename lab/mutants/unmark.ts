// Part of `npm run build`: takes the markers of mutants out of what is published.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withoutMarkers } from './planted.ts'

const [folder = 'dist'] = process.argv.slice(2)
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  const path = join(folder, name)
  if (!/\.(?:js|d\.ts)$/.test(name)) continue
  const text = readFileSync(path, 'utf8')
  const published = withoutMarkers(text)
  if (published !== text) writeFileSync(path, published)
}
