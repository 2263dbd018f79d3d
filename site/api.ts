import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { apiIndex, apiPage } from './api-pages.ts'

// Gives each page that typedoc wrote its first lines, and the API its index.
const PAGES = 'site/.pages/api'
const names = readdirSync(PAGES)
  .filter((file) => file.endsWith('.md') && file !== 'index.md')
  .map((file) => basename(file, '.md'))
for (const name of names) {
  const file = `${PAGES}/${name}.md`
  writeFileSync(file, apiPage(name, readFileSync(file, 'utf8')))
}
writeFileSync(`${PAGES}/index.md`, apiIndex(names))
