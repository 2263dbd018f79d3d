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
  ['a comparison with no commit', ['compare', 'nowhere'], /this repository has no commit called nowhere/],
  [
    'a comparison of no case',
    ['compare', 'HEAD', '--only', 'kafak'],
    /--only: expected some of kafka-redis-256, .*, got kafak/,
  ],
  [
    'a goal that is none',
    ['compare', 'HEAD', '--goal', '0'],
    /'0' is invalid. Expected a number above 0, such as 0.95/,
  ],
  [
    'a goal of figures that mean nothing',
    ['compare', 'HEAD', '--goal', '0.95', '--smoke'],
    /--goal: a smoke run has no figure/,
  ],
  ['a recording of a suite that is none', ['record', 'kafak'], /'kafak' is invalid.*Expected one of cpu, kafka/],
])('the bench refuses %s, and says what it expected', (_, args, why) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', ...args], {
    encoding: 'utf8',
  })
  expect(stderr).toMatch(why)
  expect(stdout).toBe('')
  expect(status).toBe(2)
})
