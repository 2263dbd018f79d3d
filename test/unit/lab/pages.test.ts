// What the laboratory types, saves and expects as the pages have it is found in them: CI runs it one day in eight.
import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { firstHour } from '../../../lab/cli/first-hour-page.ts'
import { commandsOf, WALKED as ALERTS } from '../../../lab/observability/commands-of.ts'
import { runbookOf, WALKED as RUNBOOKS } from '../../../lab/on-call/runbook.ts'
import { rightsListed } from '../../../lab/redis/rights-listed.ts'
import { typedFor } from '../../../lab/removal/typed-for.ts'
import { sectionsOf, stepsOf, STORIES_TOLD, TOLD } from '../../../lab/replay/told.ts'

it('the rights of a Redis user', () => {
  const { consumers, durability, checks, people, cluster } = rightsListed()
  expect(consumers).toContain('+evalsha')
  expect(durability).toContain('+waitaof')
  expect(checks).toContain('+config|get')
  expect(people).toEqual(expect.arrayContaining(['+xadd', '+hset']))
  expect(cluster).toContain('+cluster|slots')
})

it('the files and the words of the first hour', () => {
  const { alert, added, test } = firstHour()
  expect(readFileSync('observability/prometheus-alerts.yml', 'utf8')).toContain(alert)
  expect([added, test]).toEqual([expect.stringMatching(/^import /), expect.stringMatching(/^import /)])
})

it.each(['Redis', 'Postgres'] as const)('what removes the records of %s', (store) => {
  expect(typedFor(store)).toMatch(store === 'Redis' ? /^redis-cli / : /^drop schema /i)
})

it.each(ALERTS)('the commands in the first step of %s', (alert) => {
  expect(commandsOf(alert).every((words) => words.includes('sms'))).toBe(true)
})

it.each(RUNBOOKS)('the commands of: %s', (heading) => {
  expect(runbookOf(heading).words).toBeGreaterThan(0)
})

it('each incident with commands, on one page', () => {
  const sections = TOLD.flatMap((page) => [...sectionsOf(readFileSync(page, 'utf8'))])
  expect(sections.map(([name]) => name).toSorted()).toEqual([...STORIES_TOLD].toSorted())
  for (const [name, section] of sections) expect([name, stepsOf(section).length > 0]).toEqual([name, true])
})
