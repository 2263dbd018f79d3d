import { readFileSync, writeFileSync } from 'node:fs'
import { withExamples } from './readme.ts'

// Part of `npm run fix`: writes the examples into the README.
writeFileSync('README.md', withExamples(readFileSync('README.md', 'utf8')))
