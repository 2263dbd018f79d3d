import { describe, expect, it } from '@jest/globals'
import { CLIENTS, KAFKAJS_ALONE } from '../../test/kafka/client/of-tests.ts'
import { VARIABLE } from '../../test/kafka/client/variable.ts'
import { hasKip848 } from '../../test/kit/servers/kafka/version.ts'
import { runJest } from '../kit/run-jest.ts'
import { newFolder } from '../../test/kit/servers/private-instance.ts'

const others = CLIENTS.filter((client) => client !== 'kafkajs' && (client !== 'platformatic-kip848' || hasKip848()))

/** The tests of `test/kafka` that are not about kafkajs. `npm test` runs them with kafkajs. */
describe.each(others)('the tests of a Kafka source, with %s', (client) => {
  it('pass', async () => {
    const ignored = Object.keys(KAFKAJS_ALONE).map((file) => `test/kafka/${file}$`)
    const report = await runJest(
      ['--config=test/jest.config.js', '--maxWorkers=2', 'test/kafka', '--testPathIgnorePatterns', ignored.join('|')],
      { env: { [VARIABLE]: client }, folder: newFolder('clients') },
    )
    const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? []
    expect(tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)).toEqual([])
    expect(tests.filter(({ status }) => status === 'passed').length).toBeGreaterThan(100)
  }, 900_000)
})
