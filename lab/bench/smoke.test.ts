import { beforeAll, describe, expect, it } from '@jest/globals'
import { available, type Available } from '../../bench/available.ts'
import { allSuites, SUITE_NAMES } from '../../bench/catalogue.ts'
import { compile } from '../../bench/compiled.ts'
import type { Servers } from '../../bench/machine.ts'
import { reportOf } from '../../bench/report.ts'
import { runScenario } from '../../bench/run-scenario.ts'
import type { Scenario, Suite } from '../../bench/suite.ts'
import { backends } from '../../test/kit/backends.ts'
import { SERVER_NAMES } from '../../test/kit/servers/catalogue.ts'
import { findProgram } from '../../test/kit/servers/commands.ts'
import { server, SERVER_WITHIN_MS, sharedEndpoint } from '../../test/kit/servers/server.ts'

const SUITE_WITHIN_MS = 180_000

let child = ''
let servers: Servers = {}
let suites: readonly Suite[] = []
/** By the scenarios of all suites for which there are servers. */
const here = new Map<Scenario, Available>()
beforeAll(async () => {
  child = await compile()
  const wanted = SERVER_NAMES.filter((name) => backends.has(name))
  await Promise.all(wanted.map((name) => server(name)))
  servers = Object.fromEntries(await Promise.all(wanted.map(async (name) => [name, await sharedEndpoint(name)])))
  suites = await allSuites()
  const runnable = suites
    .flatMap(({ scenarios }) => scenarios)
    .filter(({ needs }) => needs.every((needed) => backends.has(needed)))
  await Promise.all(runnable.map(async (scenario) => here.set(scenario, await available(scenario))))
}, SERVER_WITHIN_MS)

/** Every contender verifies its own result, whatever the time it took. */
async function contendersIn(suite: Suite, scenario: Scenario): Promise<readonly string[]> {
  const rounds = await runScenario(scenario, {
    suite: suite.name,
    messages: suite.smoke,
    repetitions: 1,
    servers,
    isSmoke: true,
    child,
    profiles: undefined,
    progress: () => {},
  })
  const run = { at: '', commit: '', load: { start: 0, end: 0 } }
  return reportOf(scenario, rounds, run).contenders.map(({ name, rate }) =>
    rate.median > 0 ? name : `${name} stood still`,
  )
}

describe('every suite of the bench', () => {
  it.each(SUITE_NAMES)(
    '%s ends and verifies its results, where there are few messages',
    async (name) => {
      const suite = suites.find((one) => one.name === name)
      if (suite === undefined) throw new Error(`no suite called ${name}`)
      const scenarios = suite.scenarios.flatMap((scenario) => here.get(scenario)?.scenario ?? [])
      // Most of the time a child waits for its broker.
      const worked = await Promise.all(scenarios.map((scenario) => contendersIn(suite, scenario)))
      expect(worked).toEqual(scenarios.map(({ contenders }) => contenders.map(({ name: one }) => one)))
    },
    SUITE_WITHIN_MS,
  )

  // Where it has been found or installed for Kafka.
  if (findProgram('java') !== undefined) {
    it('runs every contender', () => {
      const leftOut = [...here.values()].flatMap(({ leftOut: why }) => why)
      // A client that needs a newer Node than this package.
      expect(leftOut.filter((why) => !why.startsWith('@platformatic/kafka'))).toEqual([])
    })
  }
})
