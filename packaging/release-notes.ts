// npm run --silent release:notes: the section of CHANGELOG.md of this version, as the text of its release.

import { readFileSync } from 'node:fs'
import { notesOf } from './changelog.ts'
import { manifestOf } from './stage.ts'

console.log(notesOf(readFileSync('CHANGELOG.md', 'utf8'), manifestOf('.')))
