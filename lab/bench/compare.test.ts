import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import type { Comparison } from '../../bench/compare/comparison.ts'

it('the bench compares the library of the last commit with that of the working tree, each in a build of its own', async () => {
  const args = ['--import', 'tsx', 'bench/main.ts', 'compare', 'HEAD', '--only', 'cpu', '--smoke', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { smoke, before, now, pairs, cases } = JSON.parse(stdout) as Comparison
  expect({ smoke, pairs }).toEqual({ smoke: true, pairs: 1 })
  expect(now.replace(/-changed$/, '')).toBe(before)
  expect(cases).toMatchObject([{ name: 'cpu', messages: 500, rate: { median: expect.any(Number) } }])
}, 180_000)

it('the JSON of the bench says whether it was a smoke run', async () => {
  const args = ['--import', 'tsx', 'bench/main.ts', 'cpu', '--only', 'alone', '--json']
  const reported = async (...more: readonly string[]): Promise<unknown> =>
    JSON.parse((await promisify(execFile)(process.execPath, [...args, ...more])).stdout)
  expect(await reported('--smoke')).toMatchObject({ suite: 'cpu', smoke: true })
  expect(await reported('--n', '500', '--reps', '1')).toMatchObject({ suite: 'cpu', smoke: false })
}, 180_000)
