import { VARIABLE } from './variable.ts'

/** The clients that the tests of a Kafka source run with. */
export const CLIENTS = ['kafkajs', 'platformatic', 'platformatic-kip848'] as const
export type ClientOfTests = (typeof CLIENTS)[number]

/** What sources and publishers are made of. Administration, producers and other members of a test are always of kafkajs. */
export const clientOfTests: ClientOfTests = parse(process.env[VARIABLE])

export const GROUP_PROTOCOL: 'classic' | 'consumer' = clientOfTests === 'platformatic-kip848' ? 'consumer' : 'classic'

/** Files that are about kafkajs itself, with the reason. The others run with each client (lab/kafka/clients.test.ts). */
export const KAFKAJS_ALONE: Readonly<Record<string, string>> = {
  'client/start-time.test.ts': 'admin clients and log lines of kafkajs are counted',
  'companions.test.ts': 'assigners are objects of kafkajs',
  'contract.test.ts': 'lab/platformatic-kafka/contract.test.ts has the same laws',
  'drop-in.test.ts': 'drop-ins are for a consumer of kafkajs',
  'drop-in-batch.test.ts': 'drop-ins are for a consumer of kafkajs',
  'fetched.test.ts': 'bytes that the fetches of kafkajs are read from',
  'headers.test.ts': 'the decoder of kafkajs beside ours',
  'options.test.ts': 'options on a scripted kafkajs',
  'quiet-timers.test.ts': 'the timers of kafkajs',
  'signals/stop.test.ts': 'the programs wait for requests of kafkajs',
  'source.test.ts': 'a scripted kafkajs',
}

function parse(text: string | undefined): ClientOfTests {
  if (text === undefined || text === '') return 'kafkajs'
  const known = CLIENTS.find((name) => name === text)
  if (known === undefined) throw new TypeError(`${VARIABLE}: expected one of ${CLIENTS.join(', ')}; got ${text}`)
  return known
}
