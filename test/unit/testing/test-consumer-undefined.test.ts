// A field that the payload does not have: `undefined` in a statement, or in what is published, breaks nothing in a test.
import { describe, expect, it } from '@jest/globals'
import type { HandlerContext } from 'consume-once'
import { testConsumer } from 'consume-once/testing'

interface Payment {
  readonly id: string
  readonly note?: string
}
interface Tx {
  query(statement: string | object, values?: unknown): Promise<unknown>
  execute(statement: string | object, values?: unknown): Promise<unknown>
  save(entity: object): Promise<unknown>
}
type Context = HandlerContext<Payment, Tx>

const MESSAGES = [{ id: 'm-1', payload: { id: 'p-1' } }]
const INSERT = 'insert into charges values ($1, $2)'
/** As a typo reads it in JavaScript. */
const wrongField = ({ payload }: Context): never => (payload as unknown as { readonly paymentID: never }).paymentID

async function lacksIt(context: Context): Promise<void> {
  await context.tx.query(INSERT, [context.attempt > 1 ? wrongField(context) : 1])
}

async function writeNote({ payload, tx }: Context): Promise<void> {
  await tx.query(INSERT, [payload.id, payload.note ?? null])
  await tx.execute('insert into charges values (:id, :note)', { id: payload.id, note: payload.note })
  await tx.save({ id: payload.id, note: payload.note, tags: [undefined] })
  await tx.query('insert into charges default values')
}

async function announce({ publish }: Context): Promise<void> {
  await publish({ topic: 'charged', value: null })
  await publish({ topic: 'charged', key: null, headers: {}, value: '' })
  await publish({ routingKey: 'charged', body: '', properties: { type: undefined } })
}

function tested(handle: (context: Context) => unknown): Promise<unknown> {
  return testConsumer<Payment, Tx>(handle, { messages: MESSAGES })
}

describe('testConsumer refuses undefined among the values of a statement', () => {
  it.each<[what: string, write: (context: Context) => unknown, shown: string]>([
    [
      'of query',
      (context) => context.tx.query(INSERT, [context.payload.id, wrongField(context)]),
      `value number 2 of tx.query("${INSERT}") is undefined`,
    ],
    [
      'of execute',
      (context) => context.tx.execute('insert into charges values (?)', [wrongField(context)]),
      'value number 1 of tx.execute("insert into charges values (?)") is undefined',
    ],
    [
      'of an object of pg',
      (context) => context.tx.query({ text: INSERT, values: [wrongField(context), 1] }),
      `value number 1 of tx.query("${INSERT}") is undefined`,
    ],
    [
      'of an object of mysql2',
      (context) => context.tx.execute({ sql: INSERT, values: [1, wrongField(context)] }),
      `value number 2 of tx.execute("${INSERT}") is undefined`,
    ],
    [
      'beside an object',
      (context) => context.tx.query({ name: 'charge', text: INSERT }, [wrongField(context)]),
      `value number 1 of tx.query("${INSERT}") is undefined`,
    ],
    [
      'in a list of rows',
      (context) => context.tx.query('insert into charges values ?', [[[1, wrongField(context)]]]),
      'value number 1 of tx.query("insert into charges values ?") has undefined in it',
    ],
    [
      'of a long one, on one line',
      (context) => context.tx.query(`insert into charges\n  values (${'$1, '.repeat(40)})`, [wrongField(context)]),
      'value number 1 of tx.query("insert into charges values ($1, $1, $1, $1, $1, $1, $1, $1, …") is undefined',
    ],
    [
      'of one that reads',
      async (context) => {
        await context.tx.query('select from charges where id = $1', [wrongField(context)])
        await context.tx.query(INSERT, [context.payload.id])
      },
      'value number 1 of tx.query("select from charges where id = $1") is undefined',
    ],
  ])('%s', async (_, write, shown) => {
    await expect(tested(write)).rejects.toThrow(
      `testConsumer: delivered once: message {"id":"p-1"}: ${shown}, which a client writes as NULL or refuses: expected a value. ` +
        'The payload may have no such field. Where NULL is meant, give null',
    )
  })

  it('also where only a message that comes again has it', async () => {
    await expect(tested(lacksIt)).rejects.toThrow(/testConsumer: crash .*: message \{"id":"p-1"\}: value number 1 of/)
  })

  it('but not null, values by name, nor a field of an entity', async () => {
    await expect(tested(writeNote)).resolves.toEqual({ published: [] })
  })
})

describe('testConsumer refuses undefined in what is published', () => {
  const lacks = 'The payload may have no such field. Where none is meant,'

  it.each<[what: string, message: (context: Context) => object, shown: string]>([
    [
      'as a key',
      (context) => ({ topic: 'charged', key: wrongField(context), value: '' }),
      `publish to charged: key is undefined, so the message would go out without it: expected a value. ${lacks} give null`,
    ],
    [
      'as an ID',
      (context) => ({ routingKey: 'charged', body: '', messageId: wrongField(context) }),
      `publish to charged: messageId is undefined, so the message would go out without it: expected a value. ${lacks} leave it out`,
    ],
    [
      'as its order',
      (context) => ({ topic: 'charged', order: wrongField(context), value: '' }),
      `publish to charged: order is undefined, so the message would go out without it: expected a value. ${lacks} leave it out`,
    ],
    [
      'in a header of Kafka',
      (context) => ({ topic: 'charged', headers: { tenant: wrongField(context) }, value: '' }),
      `publish to charged: the header "tenant" is undefined, so the message would go out without it: expected a value. ${lacks} leave it out`,
    ],
    [
      'in a header of RabbitMQ',
      (context) => ({ exchange: 'e', routingKey: 'charged', headers: { a: 1, tenant: wrongField(context) }, body: '' }),
      `publish to e/charged: the header "tenant" is undefined, so the message would go out without it: expected a value. ${lacks} leave it out`,
    ],
  ])('%s', async (_, message, shown) => {
    const handle = (context: Context): unknown => context.publish(message(context) as never)
    await expect(tested(handle)).rejects.toThrow(`testConsumer: delivered once: message {"id":"p-1"}: ${shown}`)
  })

  it('but not what is left out, nor a key that is null', async () => {
    await expect(tested(announce)).resolves.toMatchObject({ published: [{}, {}, {}] })
  })
})
