import { spawnSync } from 'node:child_process'
import { expect, it } from '@jest/globals'

it.each([
  ['a suite that is none', ['kafak'], /'kafak' is invalid.*Expected one of cpu, kafka/],
  [
    'a scenario that is none',
    ['cpu', '--only', 'redis'],
    /--only: expected one of batches, alone, memory-broker, got redis/,
  ],
  [
    'contenders that are none',
    ['cpu', '--contender', 'redis'],
    /--contender: expected a part of one of bare loop; .*, got redis/,
  ],
  ['no messages', ['cpu', '--n', '0'], /'0' is invalid. Expected a whole number from 1/],
  [
    'a record of other runs',
    ['cpu', '--record', '--n', '10'],
    /--record: expected .*: leave --smoke, --contender and --n out/,
  ],
])('the bench refuses %s, and says what it expected', (_, args, why) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', ...args], {
    encoding: 'utf8',
  })
  expect(stderr).toMatch(why)
  expect(stdout).toBe('')
  expect(status).not.toBe(0)
})
