import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

describe('packages of a folder of its own', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'consume-once-own-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** With a registry that nobody serves: an installation fails. */
  function have(dependencies: Readonly<Record<string, string>>): {
    readonly status: number | null
    readonly said: string
  } {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
    const env = {
      ...process.env,
      npm_config_registry: 'http://127.0.0.1:1/',
      npm_config_fetch_retries: '0',
      npm_config_cache: folder,
    }
    const { status, stderr } = spawnSync(process.execPath, ['test/kit/own-packages.cjs', folder], {
      env,
      encoding: 'utf8',
    })
    return { status, said: stderr }
  }

  it('are left alone where they are there', () => {
    expect(have({})).toEqual({ status: 0, said: '' })
  })

  it('are named and installed where one is missing, and a failure of npm is told', () => {
    const { status, said } = have({ 'not-there': '1.0.0' })
    expect(said).toMatch(/^Installing what .*package\.json names and is not there: not-there\n/)
    expect(said).toContain('ECONNREFUSED')
    expect(status).toBe(1)
  })
})

it.each(['.', 'examples/orm', 'packaging', 'site'])(
  'every version in the manifest of %s is exact, so that it can be compared',
  (folder) => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Readonly<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>> | undefined>>
    const versions = Object.values({ ...dependencies, ...devDependencies })
    expect(versions.filter((version) => !/^(?:npm:.+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([])
  },
)
