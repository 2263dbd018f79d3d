import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sourceFiles } from '../../kit/checkout.ts'

const AUTHOR = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
const folder = mkdtempSync(join(tmpdir(), 'checkout-'))
const whole = join(folder, 'whole')
/** In a repository of somebody else. */
const archive = join(whole, 'archive')

function git(...args: readonly string[]): void {
  execFileSync('git', [...AUTHOR, ...args], { stdio: 'ignore' })
}

beforeAll(() => {
  git('init', '--quiet', whole)
  mkdirSync(join(whole, 'src'))
  writeFileSync(join(whole, 'src/a.ts'), '')
  git('-C', whole, 'add', '.')
  git('-C', whole, 'commit', '--message', 'first')
  for (const file of ['src/b.ts', 'dist/b.js', 'node_modules/c/d.js', 'docs/e.md']) {
    mkdirSync(join(archive, file, '..'), { recursive: true })
    writeFileSync(join(archive, file), '')
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

it('the sources are those that git knows, and in an archive all but what commands make', () => {
  expect(sourceFiles(whole)).toEqual(['src/a.ts'])
  expect(sourceFiles(archive).toSorted()).toEqual(['docs/e.md', 'src/b.ts'])
})
