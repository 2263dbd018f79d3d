// The table of README names the oldest client that a range of package.json takes.
import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'

const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>
}
const [row = ''] = /^\| clients .*$/m.exec(readFileSync('README.md', 'utf8')) ?? []
const OPEN = [...row.matchAll(/([\w-]+) ([\d.]+) and later/g)].map(([, name = '', oldest = '']) => [
  name === 'node-redis' ? 'redis' : name,
  oldest,
])

it('every client with a range that is open has its oldest version in the table', () => {
  expect(OPEN.map(([name]) => name)).toEqual(['amqplib', 'ioredis', 'redis', 'mysql2'])
})

it.each(OPEN)('%s %s and later is what npm may install', (name, oldest) => {
  expect(peerDependencies[name]?.split(' ')[0]).toBe(`>=${oldest}`)
})
