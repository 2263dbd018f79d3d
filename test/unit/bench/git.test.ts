import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { commitCalled, committed, currentCommit } from '../../../bench/git.ts'

function git(...args: readonly string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { stdio: 'ignore' })
}

let folder = ''
let [whole, shallow, none] = ['', '', '']
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-git-'))
  ;[whole, shallow, none] = [join(folder, 'whole'), join(folder, 'shallow'), join(folder, 'none')]
  mkdirSync(none)
  git('init', '--quiet', whole)
  for (const message of ['first', 'second']) git('-C', whole, 'commit', '--allow-empty', '--message', message)
  git('clone', '--quiet', '--depth', '1', `file://${whole}`, shallow)
})
afterAll(() => rmSync(folder, { recursive: true }))

it('knows the commit of the working tree', () => {
  expect(currentCommit(whole)).toMatch(/^[0-9a-f]{12}$/)
  expect(committed('abc-changed')).toBe('abc')
  expect(committed('abc')).toBe('abc')
})

describe('a commit to compare with', () => {
  it('is any name that git knows', () => {
    expect(commitCalled('HEAD', whole)).toMatch(/^[0-9a-f]{12}$/)
    expect(commitCalled('HEAD~1', whole)).not.toBe(commitCalled('HEAD', whole))
  })

  it.each(['nowhere', '--all', 'HEAD:file'])('is not %s: the message says so', (name) => {
    expect(() => commitCalled(name, whole)).toThrow(`this repository has no commit called ${name}`)
  })

  it('is not in a shallow clone: the message says how to fetch it', () => {
    expect(() => commitCalled('HEAD~1', shallow)).toThrow(/is shallow .*HEAD~1: git fetch --unshallow/)
  })

  it('wants a repository', () => {
    expect(() => commitCalled('HEAD', none)).toThrow('is no clone of a git repository')
  })
})
