import { expect, it } from '@jest/globals'
import { answered } from '../../../adapters/kafka/replay/log-place.ts'
import { ConfigError } from '../../../src/index.ts'

function failing(error: Error): Promise<never> {
  const question = async (): Promise<never> => {
    throw error
  }
  return answered({ topic: 'sms' }, question)
}

it('a broker that refuses, or does not answer, is a BrokerError that says what to do', async () => {
  const refused = Object.assign(new Error('Not authorized'), { type: 'GROUP_AUTHORIZATION_FAILED' })
  const allow = {
    code: 'BROKER_UNREACHABLE',
    message: expect.stringContaining('begin with consume-once-replay-') as unknown,
  }
  await expect(failing(refused)).rejects.toMatchObject(allow)
  await expect(failing(new Error('ECONNREFUSED'))).rejects.toThrow(/sms.*ECONNREFUSED.*brokers/)
})

it('an error of the library stays as it is', async () => {
  const error = new ConfigError(['place'])
  await expect(failing(error)).rejects.toBe(error)
})
