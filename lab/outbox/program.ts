// A relay, or a writer, that dies at a named point. Its broker is a file, to which it appends what it takes.
import { appendFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { mysqlOutbox } from '../../adapters/mysql2/index.ts'
import { postgresOutbox } from '../../adapters/pg/index.ts'
import type { SqlOutbox } from '../../adapters/sql/outbox/types.ts'
import type { ProgramSpec } from './relay-process.ts'

const spec = JSON.parse(process.argv[2] ?? '') as ProgramSpec
const die = (): void => void process.kill(process.pid, 'SIGKILL')

const kafka = {
  async publish({ messageId, value }: { readonly messageId: string; readonly value: Buffer }): Promise<void> {
    appendFileSync(spec.file, `${messageId} ${value.toString()}\n`)
    if (spec.dieAt === 'after publish') die()
    await new Promise((resolve) => setTimeout(resolve, spec.publishMs))
    if (spec.dieAt === 'after confirm') dieBefore('delete ')
  },
}

/** Before the first statement with this word leaves the process. */
function dieBefore(word: string): void {
  const write = Reflect.get(Socket.prototype, 'write') as (...args: unknown[]) => boolean
  Socket.prototype.write = function (this: Socket, ...args: unknown[]) {
    if (String(args[0]).includes(word)) die()
    return write.apply(this, args)
  }
}

function open(): { readonly outbox: SqlOutbox; readonly write: () => Promise<void> } {
  const options = { publishers: { kafka }, pollMs: 20 }
  const message = { topic: 't', key: 'k', value: 'k 0', messageId: 'id-0' }
  if (spec.on === 'postgres') {
    const pool = new Pool({ connectionString: spec.url, max: 4 })
    const outbox = postgresOutbox({ ...options, pool, schema: spec.schema })
    const write = async (): Promise<void> => {
      const client = await pool.connect()
      await client.query('begin')
      await outbox.publish(client, message)
      if (spec.dieAt === 'before commit') die()
      await client.query('commit')
    }
    return { outbox, write }
  }
  const pool = createPool({ uri: spec.url, connectionLimit: 4 })
  const outbox = mysqlOutbox({ ...options, pool })
  const write = async (): Promise<void> => {
    const connection = await pool.getConnection()
    await connection.beginTransaction()
    await outbox.publish(connection, message)
    if (spec.dieAt === 'before commit') die()
    await connection.commit()
  }
  return { outbox, write }
}

async function main(): Promise<void> {
  const { outbox, write } = open()
  await outbox.open()
  if (spec.dieAt === 'before commit' || spec.dieAt === 'after commit') {
    await write()
    die()
  }
  outbox.start()
  process.send?.('started')
}

void main()
